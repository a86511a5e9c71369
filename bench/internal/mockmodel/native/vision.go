package native

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
)

const (
	distance = 1.5 // metres to everything
	took     = 0.1 // milliseconds that everything takes
)

func depth(a *asked) object {
	picture := image.NewGray16(image.Rect(0, 0, 4, 4))
	for i := range 16 {
		picture.SetGray16(i%4, i/4, color.Gray16{Y: distance * 1000})
	}
	var file bytes.Buffer
	_ = png.Encode(&file, picture) // a buffer takes everything
	placed := []any{}
	detections, _ := a.body["detections"].([]any)
	for _, d := range detections {
		detection, _ := d.(object)
		placed = append(placed, object{"bbox": detection["bbox"], "position_m": []float64{0, 0, distance}, "distance_m": distance})
	}
	return object{"depth_map_b64": base64.StdEncoding.EncodeToString(file.Bytes()), "detections_3d": placed, "latency_ms": took}
}

// scene moves to the level of the body where org_id and image_base64 of the operations on scenes are.
func (a *asked) scene() *asked {
	return &asked{account: a.account, body: a.body, input: a.body, task: a.task}
}

func (n *Answers) spatial(a *asked) object {
	near, radius := []any{}, number(a.body, "radius_m", 0)
	for _, c := range n.people.search(a.scene().gallery(), sampleOf(text(a.body, "image_base64"))) {
		if c.score >= threshold && radius >= distance {
			near = append(near, object{"subject_id": c.subject, "score": c.score, "distance_m": distance, "bbox": box()})
		}
	}
	return object{"subjects_in_radius": near, "total_detected": 1, "query_radius_m": radius, "latency_ms": took}
}

// multicam sees one person in all views who is known if the first view is a sample of somebody.
func (n *Answers) multicam(a *asked) object {
	views, _ := a.body["views"].([]any)
	seen, first := []any{}, ""
	for i, v := range views {
		view, _ := v.(object)
		seen = append(seen, object{"camera_id": text(view, "camera_id"), "bbox": box()})
		if i == 0 {
			first = text(view, "image_base64")
		}
	}
	track := object{"track_id": "t1", "subject_id": nil, "score": nil, "views": seen}
	if found := n.people.search(a.scene().gallery(), sampleOf(first)); len(found) > 0 {
		if found[0].score >= number(a.body, "similarity_threshold", threshold) {
			track["subject_id"], track["score"] = found[0].subject, found[0].score
		}
	}
	if enrich, _ := a.body["enrich_depth"].(bool); enrich {
		track["position_m"] = []float64{0, 0, distance}
	}
	return object{"tracks": []any{track}, "total_views": len(views), "fused_subjects": min(len(views)-1, 1), "latency_ms": took}
}

// track joins the first detections of all frames.
func track(a *asked) object {
	frames, _ := a.body["frames"].([]any)
	boxes := []any{}
	for _, f := range frames {
		frame, _ := f.(object)
		where := any(box())
		if detections, ok := frame["detections"].([]any); ok {
			if len(detections) == 0 {
				continue
			}
			detection, _ := detections[0].(object)
			where = detection["bbox"]
		}
		boxes = append(boxes, object{"t": frame["t"], "bbox": where})
	}
	tracks := []any{}
	if len(boxes) > 0 {
		tracks = append(tracks, object{"track_id": "t1", "boxes": boxes})
	}
	return object{"tracks": tracks, "total_frames": len(frames), "total_tracks": len(tracks), "latency_ms": took}
}
