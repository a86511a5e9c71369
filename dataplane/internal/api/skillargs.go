package api

import (
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/wire"
)

// checkArgs holds the arguments of a skill against the contract, which says what those of three skills are. Those of others are
// for the skill to judge.
func checkArgs(skill string, args map[string]any) error {
	at := []any{"body", "args"}
	switch skill {
	case "biometrix_enroll", "biometrix_identify":
		var a wire.BiometrixArgs
		if err := bind.Value(args, at, &a); err != nil {
			return err
		}
		return personArgs(&a)
	case "create_pdf":
		return bind.Value(args, at, &wire.CreatePDFArgs{})
	}
	return nil
}

// personArgs checks that what an action needs is there.
func personArgs(a *wire.BiometrixArgs) error {
	var items []apierr.Item
	need := func(name, value string) {
		if value == "" {
			items = append(items, apierr.Item{Type: "missing", Loc: []any{"body", "args", name}, Msg: "Field required"})
		}
	}
	if a.Action == "enroll" || a.Action == "delete_enrolled" {
		need("user_id", a.UserID)
	}
	if a.Action == "enroll" || a.Action == "identify" {
		need("image_b64", a.ImageB64)
	}
	if len(items) > 0 {
		return apierr.Violations(items...)
	}
	return nil
}
