package stack

import "crypto/rand"

// Variables with the keys of Stripe's. Without the first one plans are bought at the simulator of Stripe, where nobody pays.
const (
	stripeKeyVariable         = "MODELGATE_STRIPE_KEY"
	stripeWebhookVariable     = "MODELGATE_STRIPE_WEBHOOK_SECRET"
	stripePublishableVariable = "MODELGATE_STRIPE_PUBLISHABLE_KEY"
)

// Files with the secrets between control plane and simulator.
const (
	secretStripeKey     = "stripesim_key"
	secretStripeWebhook = "stripesim_webhook_secret"
)

// paid reports whether Stripe is used rather than its simulator.
func (s *Stack) paid() bool { return s.variable(stripeKeyVariable) != "" }

// stripeSettings are the settings of the control plane for billing.
type stripeSettings struct{ key, webhook, publishable, apiURL string }

// stripe returns the settings; those of the simulator are new with each start.
func (s *Stack) stripe() (stripeSettings, error) {
	if s.paid() {
		return stripeSettings{
			key: "env:" + stripeKeyVariable, webhook: "env:" + stripeWebhookVariable, publishable: s.variable(stripePublishableVariable),
		}, nil
	}
	for name, text := range map[string]string{secretStripeKey: "sk_simulated_" + rand.Text(), secretStripeWebhook: "whsec_" + rand.Text()} {
		if err := writeFile(s.at.secret(name), []byte(text+"\n")); err != nil {
			return stripeSettings{}, err
		}
	}
	return stripeSettings{
		key: "file:" + s.at.secret(secretStripeKey), webhook: "file:" + s.at.secret(secretStripeWebhook), apiURL: s.metricsURL(portStripe),
	}, nil
}
