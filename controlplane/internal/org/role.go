package org

import (
	"fmt"
	"slices"
	"strings"

	"modelgate.internal/shared/apierr"
)

// Roles of a member.
const (
	Owner     = "owner"
	Admin     = "admin"
	Developer = "developer"
	Billing   = "billing"
	Viewer    = "viewer"
)

// Right is something that a member may be allowed to do.
type Right int

// The rights.
const (
	See        Right = iota // the organization and its members
	ReadApps                // apps, their keys without values, their usage
	ChangeApps              // make, change and delete apps and keys, and read values of keys
	Manage                  // the name, the members and the invites
	ReadAudit               // the audit log
	Own                     // make owners, and change or remove one
	Pay                     // buy and change the plan, and see what is paid
)

// Roles returns the roles that have a right.
func Roles(r Right) []string {
	switch r {
	case See:
		return []string{Owner, Admin, Developer, Billing, Viewer}
	case ReadApps:
		return []string{Owner, Admin, Developer, Viewer}
	case ChangeApps:
		return []string{Owner, Admin, Developer}
	case Manage, ReadAudit:
		return []string{Owner, Admin}
	case Own:
		return []string{Owner}
	case Pay:
		return []string{Owner, Billing}
	default:
		return nil
	}
}

// Allow returns nil if a role has a right, else a 403 that says which roles have it.
func Allow(role string, r Right) error {
	allowed := Roles(r)
	if slices.Contains(allowed, role) {
		return nil
	}
	return apierr.New(apierr.Forbidden, fmt.Sprintf("Your role in the organization, %s, does not allow this. It takes: %s.",
		role, strings.Join(allowed, ", ")))
}
