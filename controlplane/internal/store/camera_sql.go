package store

const (
	countOtherCameras = `
		SELECT count(*) FROM playground_cameras
		WHERE developer_id = $1 AND NOT (session_id = $2 AND camera_id = $3)`

	upsertCamera = `
		INSERT INTO playground_cameras (developer_id, session_id, camera_id, homography, inliers, total_points, calibrated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (developer_id, session_id, camera_id) DO UPDATE
		SET homography = excluded.homography, inliers = excluded.inliers, total_points = excluded.total_points,
			calibrated_at = excluded.calibrated_at`

	selectCameras = `
		SELECT session_id, camera_id, homography, inliers, total_points, calibrated_at FROM playground_cameras
		WHERE developer_id = $1 AND session_id = $2 AND calibrated_at > $3 ORDER BY camera_id`

	selectScenes = `SELECT DISTINCT developer_id, session_id FROM playground_cameras WHERE developer_id = $1`

	selectOldScenes = `
		SELECT DISTINCT developer_id, session_id FROM playground_cameras WHERE calibrated_at <= $1 ORDER BY developer_id, session_id LIMIT $2`

	deleteOldCamerasOf = `DELETE FROM playground_cameras WHERE calibrated_at <= $1 AND developer_id = $2 AND session_id = $3`
)

func cameraStatements() map[string]string {
	return map[string]string{
		"countOtherCameras":  countOtherCameras,
		"upsertCamera":       upsertCamera,
		"selectCameras":      selectCameras,
		"selectScenes":       selectScenes,
		"selectOldScenes":    selectOldScenes,
		"deleteOldCamerasOf": deleteOldCamerasOf,
	}
}
