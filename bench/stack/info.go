package stack

import (
	"fmt"
	"io"
)

// Info tells other programs where the system is. Every URL is without a slash at its end.
type Info struct {
	PortalURL          string            `json:"portal_url"`
	GatewayURL         string            `json:"gateway_url"`
	DarwinURL          string            `json:"darwin_url"`
	MetricsURLs        map[string]string `json:"metrics_urls"` // by process name
	SimulatorURL       string            `json:"simulator_url,omitempty"`
	MailboxURL         string            `json:"mailbox_url"`          // development mailbox: pages, and JSON at /api/messages
	StripeURL          string            `json:"stripe_url,omitempty"` // simulator of Stripe; package shared/stripesim has its controls
	ControlplaneConfig string            `json:"controlplane_config"`  // for operator commands: bin/controlplane -config FILE
	Nodes              []Node            `json:"nodes"`
	Demo               Demo              `json:"demo"`
}

// Node is a data-plane node.
type Node struct {
	Name       string `json:"name"`
	Role       string `json:"role"` // in the rate-limit ledger: "voter" or "client"
	GatewayURL string `json:"gateway_url"`
	MetricsURL string `json:"metrics_url"`
}

// Demo is the account that the first run creates.
type Demo struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	AppID    string `json:"app_id"`
	KeyID    string `json:"key_id"`
	Key      string `json:"key"`
}

func (s *Stack) describe(demo Demo) Info {
	info := Info{
		PortalURL: "http://" + s.address(portControl), GatewayURL: "http://" + s.address(portGateway), DarwinURL: "http://" + s.address(portDarwin),
		MetricsURLs:        map[string]string{"controlplane": s.metricsURL(portControlMetrics)},
		MailboxURL:         "http://" + s.address(portMailbox),
		ControlplaneConfig: s.at.config("controlplane"), Demo: demo,
	}
	if s.simulated() {
		info.SimulatorURL = "http://" + s.address(portSimulator)
	}
	if !s.paid() {
		info.StripeURL = "http://" + s.address(portStripe)
	}
	for n := range s.o.Nodes {
		node := Node{
			Name: nodeName(n), Role: s.role(n), GatewayURL: "http://" + s.address(nodePort(n, portGateway)),
			MetricsURL: s.metricsURL(nodePort(n, portNodeMetrics)),
		}
		info.Nodes = append(info.Nodes, node)
		info.MetricsURLs[node.Name] = node.MetricsURL
	}
	return info
}

// Banner tells a person how to use the running system.
func (s *Stack) Banner(w io.Writer) {
	i := s.info
	fmt.Fprintf(w, `
Modelgate is ready.

  Portal       %s/dev/
  Gateway      %s/api/v1
  Darwin host  %s/api/v1/agent
`, i.PortalURL, i.GatewayURL, i.DarwinURL)
	for _, node := range i.Nodes[1:] {
		fmt.Fprintf(w, "  Gateway      %s/api/v1  (%s)\n", node.GatewayURL, node.Name)
	}
	fmt.Fprintf(w, `  Mails        %s  (development mailbox, nothing is delivered)
  Demo login   %s  %s
  Demo app     %s
  Demo key     %s
  Logs         %s

See tokens stream:

  curl -N %s/api/v1/agent -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' -d '{"prompt": "Tell me about the sea.", "stream": true}'

`, i.MailboxURL, i.Demo.Email, i.Demo.Password, i.Demo.AppID, i.Demo.Key, s.at.logs, i.GatewayURL, i.Demo.Key)
	if s.simulated() {
		fmt.Fprint(w, "Answers come from a SIMULATOR, not a model. Set MODELGATE_CHAT_URL to the base URL of an OpenAI-compatible\n"+
			"server, for instance http://127.0.0.1:11434/v1, to get answers from a model.\n\n")
	} else {
		fmt.Fprintf(w, "Answers come from %s.\n\n", s.o.ChatURL)
	}
	if !s.paid() {
		fmt.Fprint(w, "Plans are bought at a SIMULATOR of Stripe, where nobody pays: card 4242 4242 4242 4242, or 4000 0027 6000 3184 with 3-D\n"+
			"Secure. Set MODELGATE_STRIPE_KEY and MODELGATE_STRIPE_WEBHOOK_SECRET to use Stripe.\n\n")
	}
	fmt.Fprint(w, "Ctrl-C stops everything.\n")
}
