package store

const (
	selectExportedDeveloper = `
		SELECT ` + developerColumns + `, google_sub IS NOT NULL AS google FROM developers WHERE id = $1`

	selectExportedTOTP = `
		SELECT confirmed_at, (SELECT count(*) FROM account_recovery_codes AS r WHERE r.developer_id = t.developer_id) AS recovery_left
		FROM account_totp AS t WHERE developer_id = $1`

	selectExportedSessions = `
		SELECT ` + sessionColumns + ` FROM sessions WHERE developer_id = $1 ORDER BY created_at DESC, id LIMIT $2`

	// Apps of an organization and their keys are the organization's.
	selectExportedApps = `
		SELECT ` + appColumns + `, '' AS role FROM apps AS a WHERE a.developer_id = $1 AND a.org_id IS NULL
		ORDER BY a.created_at DESC, a.id LIMIT $2`

	selectExportedKeys = `
		SELECT ` + keyColumns + ` FROM api_keys
		WHERE developer_id = $1 AND (app_id IS NULL OR app_id IN (SELECT a.id FROM apps AS a WHERE a.developer_id = $1 AND a.org_id IS NULL))
		ORDER BY created_at DESC, id LIMIT $2`

	selectExportedReads = `SELECT key_id, at FROM key_reads WHERE developer_id = $1 ORDER BY at DESC, id LIMIT $2`

	selectExportedCameras = `
		SELECT session_id, camera_id, homography, inliers, total_points, calibrated_at FROM playground_cameras
		WHERE developer_id = $1 ORDER BY session_id, camera_id LIMIT $2`

	selectExportedUsage = `
		SELECT bucket AS day, app_id, key_id, model, task, status, sum(calls)::INT8 AS calls, sum(errors)::INT8 AS errors,
			sum(tokens_in)::INT8 AS tokens_in, sum(tokens_out)::INT8 AS tokens_out
		FROM usage_day WHERE account_id = $1
		GROUP BY bucket, app_id, key_id, model, task, status
		ORDER BY bucket DESC, app_id, key_id, model, task, status LIMIT $2`
)

func exportStatements() map[string]string {
	return map[string]string{
		"selectExportedDeveloper": selectExportedDeveloper,
		"selectExportedTOTP":      selectExportedTOTP,
		"selectExportedSessions":  selectExportedSessions,
		"selectExportedApps":      selectExportedApps,
		"selectExportedKeys":      selectExportedKeys,
		"selectExportedReads":     selectExportedReads,
		"selectExportedCameras":   selectExportedCameras,
		"selectExportedUsage":     selectExportedUsage,
	}
}
