package store

const (
	countPublic = `UPDATE public_counters SET count = count + 1 WHERE name = $1 RETURNING count`

	// Names that have a place of their own are not held against the bound for the others.
	addPublicCounter = `
		INSERT INTO public_counters (name, count)
		SELECT $1::TEXT, 1
		WHERE $1::TEXT = ANY($2::TEXT[]) OR (SELECT count(*) FROM public_counters AS c WHERE c.name <> ALL($2::TEXT[])) < $3::INT8
		ON CONFLICT (name) DO UPDATE SET count = public_counters.count + 1
		RETURNING count`

	countDropped = `UPDATE public_counter_state SET dropped = dropped + 1 WHERE id = 1 RETURNING dropped AS count`

	selectPublicCounters = `
		SELECT s.since, s.dropped, c.name, c.count
		FROM public_counter_state AS s LEFT JOIN public_counters AS c ON true
		WHERE s.id = 1`

	resetPublicCounters = `
		WITH gone AS (DELETE FROM public_counters RETURNING name)
		UPDATE public_counter_state SET since = $1, dropped = 0 WHERE id = 1`
)

func counterStatements() map[string]string {
	return map[string]string{
		"countPublic":          countPublic,
		"addPublicCounter":     addPublicCounter,
		"countDropped":         countDropped,
		"selectPublicCounters": selectPublicCounters,
		"resetPublicCounters":  resetPublicCounters,
	}
}
