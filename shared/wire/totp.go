package wire

// LoginChallenge answers a sign-in with 202 when a second factor is on.
type LoginChallenge struct {
	Challenge string `json:"challenge"`  // for POST /dev/auth/login/totp
	ExpiresIn int64  `json:"expires_in"` // seconds
}

// LoginTOTPRequest is the body of POST /dev/auth/login/totp.
type LoginTOTPRequest struct {
	Challenge string `json:"challenge" bind:"required,min=1,max=4096,secret"`
	Code      string `json:"code" bind:"required,min=6,max=40,secret"` // of the app, or a recovery code
}

// TOTPState answers GET /dev/auth/totp and POST /dev/auth/totp/disable.
type TOTPState struct {
	Enabled           bool  `json:"enabled"`
	RecoveryCodesLeft int64 `json:"recovery_codes_left"`
}

// TOTPRequest is the body of POST /dev/auth/totp.
type TOTPRequest struct {
	Password string `json:"password" bind:"required,min=1,max=128,secret"`
}

// TOTPEnrolment answers POST /dev/auth/totp. The factor is not asked for until it is confirmed.
type TOTPEnrolment struct {
	Secret     string `json:"secret"`      // base32, to type into an app
	OTPAuthURL string `json:"otpauth_url"` // the same, to show as a QR code
}

// TOTPConfirmRequest is the body of POST /dev/auth/totp/confirm.
type TOTPConfirmRequest struct {
	Code string `json:"code" bind:"required,min=6,max=40,secret"`
}

// TOTPConfirmed answers POST /dev/auth/totp/confirm; the recovery codes are shown here only.
type TOTPConfirmed struct {
	Enabled       bool     `json:"enabled"`
	RecoveryCodes []string `json:"recovery_codes"`
}

// TOTPDisableRequest is the body of POST /dev/auth/totp/disable.
type TOTPDisableRequest struct {
	Password string `json:"password" bind:"required,min=1,max=128,secret"`
	Code     string `json:"code" bind:"required,min=6,max=40,secret"`
}
