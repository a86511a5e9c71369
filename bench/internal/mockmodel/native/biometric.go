package native

// box is where everything is found.
func box() []float64 { return []float64{40, 32, 180, 210} }

func predict(a *asked) object {
	answer := object{"result": object{"label": "simulated", "score": 0.9}}
	for _, name := range []string{"family", "task", "action", "speaker_label"} {
		if value := text(a.body, name); value != "" {
			answer[name] = value
		}
	}
	return answer
}

func detect(*asked) object {
	return object{
		"detections": []any{object{"bbox": box(), "confidence": 0.9, "landmarks": [][]float64{{80, 90}, {140, 91}}}}, "count": 1,
	}
}

func extract(a *asked) object {
	return object{"embedding": sampleOf(text(a.input, "image_base64")).vector, "embedding_dim": dim}
}

func compare(a *asked) object {
	probe, _ := a.input["probe"].(object)
	reference, _ := a.input["reference"].(object)
	s := score(sampleOf(text(probe, "image_base64")), sampleOf(text(reference, "image_base64")))
	return object{"match": s >= threshold, "score": s, "confidence": s, "threshold": threshold}
}

// gallery names the gallery that a request is about.
func (a *asked) gallery() string { return text(a.input, "org_id") + "/" + a.task }

func (n *Answers) identify(a *asked) object {
	matches := []any{}
	for _, c := range n.people.search(a.gallery(), sampleOf(text(a.input, "image_base64"))) {
		if c.score >= threshold {
			matches = append(matches, object{"id": c.subject, "score": c.score, "confidence": c.score})
		}
	}
	return object{"matches": matches, "total_matches": len(matches)}
}

func (n *Answers) enroll(a *asked) object {
	subject := text(a.input, "subject_id")
	n.people.enroll(a.gallery(), subject, sampleOf(text(a.input, "image_base64")))
	return object{"status": "enrolled", "org_id": text(a.input, "org_id"), "subject_id": subject, "embedding_dim": dim}
}

func (n *Answers) remove(a *asked) object {
	subject := text(a.input, "subject_id")
	return object{"deleted": n.people.remove(a.gallery(), subject), "org_id": text(a.input, "org_id"), "subject_id": subject}
}

func (n *Answers) match(a *asked) object {
	answer := object{"matched": false, "subject_id": nil, "score": nil, "threshold": threshold}
	candidates := []any{}
	for i, c := range n.people.search(a.gallery(), sampleOf(text(a.input, "image_base64"))) {
		if candidates = append(candidates, object{"subject_id": c.subject, "score": c.score}); i > 0 {
			continue
		}
		if answer["score"] = c.score; c.score >= threshold {
			answer["matched"], answer["subject_id"] = true, c.subject
		}
	}
	answer["candidates"] = candidates
	return answer
}
