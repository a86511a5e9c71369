package result

import "fmt"

// The shapes of the operations on images and scenes.

// Depth is DepthResult without its backend, which the gateway adds where the server does not say.
func Depth() Shape {
	return Shape{fields: object(
		need("depth_map_b64", text),
		need("detections_3d", list(object(need("bbox", box()), need("position_m", position()), need("distance_m", notBelow0())))),
		need("latency_ms", notBelow0()), may("backend", text),
	)}
}

// Spatial is SpatialResult.
func Spatial() Shape {
	return Shape{
		fields: object(
			need("subjects_in_radius", list(object(
				need("subject_id", text), need("score", anyNumber()), need("distance_m", notBelow0()), need("bbox", box()),
			))),
			need("total_detected", whole()), need("query_radius_m", notBelow0()), need("latency_ms", notBelow0()),
		),
		more: func(asked, a map[string]any) string {
			radius, _ := value(a["query_radius_m"])
			if want, ok := value(asked["radius_m"]); ok && want != radius {
				return "query_radius_m is not the radius that was asked for"
			}
			subjects, _ := a["subjects_in_radius"].([]any)
			for _, s := range subjects {
				subject, _ := s.(map[string]any)
				if d, _ := value(subject["distance_m"]); d > radius {
					return fmt.Sprintf("a subject at %g m is not within %g m", d, radius)
				}
			}
			return ""
		},
	}
}

// Multicam is MulticamResult.
func Multicam() Shape {
	return Shape{
		fields: object(
			need("tracks", list(object(
				need("track_id", text), need("subject_id", nullable(text)), need("score", nullable(anyNumber())),
				need("views", list(object(need("camera_id", text), need("bbox", box())))), may("position_m", position()),
			))),
			need("total_views", whole()), need("fused_subjects", whole()), need("latency_ms", notBelow0()),
		),
		more: func(asked, a map[string]any) string {
			views, _ := asked["views"].([]any)
			if n, _ := value(a["total_views"]); n != float64(len(views)) {
				return fmt.Sprintf("total_views is %g for %d views", n, len(views))
			}
			return ""
		},
	}
}

// Tracking is TrackingResult.
func Tracking() Shape {
	return Shape{
		fields: object(
			need("tracks", list(object(need("track_id", text), need("boxes", list(object(need("t", anyNumber()), need("bbox", box()))))))),
			need("total_frames", whole()), need("total_tracks", whole()), need("latency_ms", notBelow0()),
		),
		more: func(asked, a map[string]any) string {
			frames, _ := asked["frames"].([]any)
			if n, _ := value(a["total_frames"]); n != float64(len(frames)) {
				return fmt.Sprintf("total_frames is %g for %d frames", n, len(frames))
			}
			return counts(a, "total_tracks", "tracks")
		},
	}
}
