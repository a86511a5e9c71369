package store

const (
	billingColumns = `account_id, org_id IS NOT NULL AS organization, customer_id, plan, revision, over_since, disputed_at, synced_at`

	eventColumns = `id, type, customer_id, object_id, created_at, attempts`

	insertBillingAccount = `
		INSERT INTO billing_accounts (account_id, developer_id, org_id, plan, revision, created_at, check_at)
		SELECT $1::UUID, (SELECT id FROM developers WHERE id = $1), (SELECT id FROM organizations WHERE id = $1), 'free', 0,
			$2::TIMESTAMPTZ, $2
		ON CONFLICT (account_id) DO NOTHING`

	updateBillingDue = `UPDATE billing_accounts SET check_at = $2 WHERE account_id = $1`

	selectBillingAccount = `SELECT ` + billingColumns + ` FROM billing_accounts WHERE account_id = $1`

	lockBillingAccount = selectBillingAccount + ` FOR UPDATE`

	selectBillingCustomer = `SELECT ` + billingColumns + ` FROM billing_accounts WHERE customer_id = $1`

	updateBillingCustomer = `
		UPDATE billing_accounts SET customer_id = $2 WHERE account_id = $1 AND customer_id IS NULL`

	updateBillingAccount = `
		UPDATE billing_accounts
		SET customer_id = $2, plan = $3, revision = revision + 1, over_since = $4, synced_at = $5, check_at = $6
		WHERE account_id = $1`

	updateDisputed = `UPDATE billing_accounts SET disputed_at = $2 WHERE account_id = $1`

	claimBillingAccounts = `
		UPDATE billing_accounts SET check_at = $2
		WHERE account_id IN (
			SELECT account_id FROM billing_accounts WHERE check_at <= $1 ORDER BY check_at LIMIT $3 FOR UPDATE SKIP LOCKED)
		RETURNING account_id`

	dueAllBillingAccounts = `UPDATE billing_accounts SET check_at = $1`

	deleteSubscriptions = `DELETE FROM billing_subscriptions WHERE account_id = $1`

	insertSubscription = `
		INSERT INTO billing_subscriptions (id, account_id, status, plan, billed_by, period_end, cancel_at_period_end, unpaid_since)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

	selectSubscriptions = `
		SELECT id, status, plan, billed_by AS interval, period_end, cancel_at_period_end, unpaid_since
		FROM billing_subscriptions WHERE account_id = $1 ORDER BY id`

	selectAppStates = `
		SELECT id, name, kept, suspended_at FROM apps
		WHERE developer_id = $1 AND org_id IS NULL OR org_id = $1 ORDER BY kept DESC, created_at, id LIMIT $2`

	updateAppsKept = `UPDATE apps SET kept = (id = ANY($2)) WHERE developer_id = $1 AND org_id IS NULL OR org_id = $1`

	countAppsNamed = `SELECT count(*) FROM apps WHERE (developer_id = $1 AND org_id IS NULL OR org_id = $1) AND id = ANY($2)`

	suspendApps = `UPDATE apps SET suspended_at = $2 WHERE id = ANY($1)`

	updateDeveloperPlan = `UPDATE developers SET plan = $2 WHERE id = $1`

	selectOrg = `
		SELECT id, name, plan, per_minute, per_day, in_flight, tokens_per_minute AS tokens, created_at FROM organizations WHERE id = $1`

	updateOrgPlan = `UPDATE organizations SET plan = $2 WHERE id = $1`

	updateOrgPaidPlan = `UPDATE organizations SET plan = $2, sponsor_id = NULL WHERE id = $1`

	selectSponsored = `
		SELECT o.id, o.name, o.plan, o.per_minute, o.per_day, o.in_flight, o.tokens_per_minute AS tokens, o.created_at
		FROM organizations AS o
		WHERE o.sponsor_id = $1 ORDER BY o.id`

	insertCheckout = `INSERT INTO billing_checkouts (session_id, account_id, plan, created_at) VALUES ($1, $2, $3, $4)`

	selectCheckouts = `
		SELECT session_id, account_id, plan, created_at FROM billing_checkouts
		WHERE account_id = $1 AND created_at > $2 ORDER BY created_at DESC LIMIT $3`

	selectCheckout = `
		SELECT session_id, account_id, plan, created_at FROM billing_checkouts WHERE session_id = $1`

	insertEvent = `
		INSERT INTO billing_events (id, type, customer_id, object_id, created_at, received_at, attempts, state, reason, next_at)
		VALUES ($1, $2, $3, $4, $5, $6, 0, 'waiting', '', $6)
		ON CONFLICT (id) DO NOTHING`

	claimEvents = `
		UPDATE billing_events SET attempts = attempts + 1, next_at = $2
		WHERE id IN (
			SELECT id FROM billing_events WHERE state = 'waiting' AND next_at <= $1 ORDER BY next_at LIMIT $3 FOR UPDATE SKIP LOCKED)
		RETURNING ` + eventColumns

	settleEvent = `UPDATE billing_events SET state = $2, reason = $3, next_at = $4 WHERE id = $1`

	countEvents = `
		SELECT count(*) FILTER (WHERE state = 'waiting') AS waiting, count(*) FILTER (WHERE state = 'dead') AS dead,
			min(received_at) FILTER (WHERE state = 'waiting') AS oldest
		FROM billing_events WHERE state <> 'done'`

	selectEvents = `
		SELECT ` + eventColumns + `, state, reason, received_at FROM billing_events
		WHERE $1 = '' OR state = $1 ORDER BY received_at DESC, id LIMIT $2`

	replayEvents = `
		UPDATE billing_events SET state = 'waiting', attempts = 0, next_at = $2, reason = ''
		WHERE id = ANY($1) OR (cardinality($1) = 0 AND state = 'dead')`

	deleteOldEvents = `
		DELETE FROM billing_events WHERE id IN (
			SELECT id FROM billing_events WHERE state = 'done' AND next_at < $1 ORDER BY next_at LIMIT $2)`
)

func billingStatements() map[string]string {
	return map[string]string{
		"insertBillingAccount":  insertBillingAccount,
		"selectBillingAccount":  selectBillingAccount,
		"lockBillingAccount":    lockBillingAccount,
		"selectBillingCustomer": selectBillingCustomer,
		"updateBillingCustomer": updateBillingCustomer,
		"updateBillingAccount":  updateBillingAccount,
		"updateDisputed":        updateDisputed,
		"claimBillingAccounts":  claimBillingAccounts,
		"dueAllBillingAccounts": dueAllBillingAccounts,
		"deleteSubscriptions":   deleteSubscriptions,
		"insertSubscription":    insertSubscription,
		"selectSubscriptions":   selectSubscriptions,
		"selectAppStates":       selectAppStates,
		"updateAppsKept":        updateAppsKept,
		"countAppsNamed":        countAppsNamed,
		"suspendApps":           suspendApps,
		"updateDeveloperPlan":   updateDeveloperPlan,
		"selectOrg":             selectOrg,
		"updateOrgPlan":         updateOrgPlan,
		"updateOrgPaidPlan":     updateOrgPaidPlan,
		"selectSponsored":       selectSponsored,
		"updateBillingDue":      updateBillingDue,
		"insertCheckout":        insertCheckout,
		"selectCheckouts":       selectCheckouts,
		"selectCheckout":        selectCheckout,
		"insertEvent":           insertEvent,
		"claimEvents":           claimEvents,
		"settleEvent":           settleEvent,
		"countEvents":           countEvents,
		"selectEvents":          selectEvents,
		"replayEvents":          replayEvents,
		"deleteOldEvents":       deleteOldEvents,
	}
}
