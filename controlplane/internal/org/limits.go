package org

import "time"

// Bounds of organizations.
const (
	MembersMax    = 500                // of an organization
	InvitesMax    = 200                // that are pending at a time
	InvitesListed = 200                // in the answer, the newest first
	InviteTTL     = 7 * 24 * time.Hour // from the making or the last resending
	SearchRunes   = 3                  // fewest characters to search for
	SearchMax     = 5                  // developers found by a search

	SearchesPerMinute = 30 // from one network
	SearchesBurst     = 30
	LooksPerMinute    = 60 // at invites, by strangers of one network
	LooksBurst        = 60
	MailsPerMinute    = 20 // invites and test mails, from one network
	MailsBurst        = 20
)
