package wire

// VerificationSent answers POST /dev/auth/verify-email/send.
type VerificationSent struct {
	Sent bool   `json:"sent"`
	To   string `json:"to"`
}

// VerifyEmailRequest is the body of POST /dev/auth/verify-email.
type VerifyEmailRequest struct {
	Token string `json:"token" bind:"required,min=1,max=200,secret"`
}

// EmailVerified answers POST /dev/auth/verify-email.
type EmailVerified struct {
	Verified bool `json:"verified"`
}

// ForgotPasswordRequest is the body of POST /dev/auth/forgot-password.
type ForgotPasswordRequest struct {
	Email string `json:"email" bind:"required,min=3,max=254"`
}

// MailAccepted answers POST /dev/auth/forgot-password, whether the address has an account or not.
type MailAccepted struct {
	Accepted bool `json:"accepted"`
}

// ResetPasswordRequest is the body of POST /dev/auth/reset-password.
type ResetPasswordRequest struct {
	Token    string `json:"token" bind:"required,min=1,max=200,secret"`
	Password string `json:"password" bind:"required,min=8,max=128,secret"`
}

// PasswordReset answers POST /dev/auth/reset-password.
type PasswordReset struct {
	Changed bool `json:"changed"`
}
