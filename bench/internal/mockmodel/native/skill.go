package native

// skill answers a skill of any name.
func (n *Answers) skill(name string, a *asked) object {
	args, _ := a.body["args"].(object)
	switch name {
	case "biometrix_enroll", "biometrix_identify":
		if answer := n.person(a.account, args); answer != nil {
			return answer
		}
	case "create_pdf":
		sections, _ := args["sections"].([]any)
		return object{"title": args["title"], "sections": len(sections)}
	case "firmware_build":
		const id = "job_simulated"
		return object{
			"type": "job", "skill": name, "job": object{"id": id, "status": "queued", "stream": "/api/v1/firmware/jobs/" + id},
		}
	}
	return object{"skill": name, "result": object{"label": "simulated", "score": 0.9}}
}

// person does what the arguments of the two skills about persons say, or nothing.
func (n *Answers) person(account string, args object) object {
	user, of := text(args, "user_id"), "skill/"+account+"/"+text(args, "task")
	switch args["action"] {
	case "enroll":
		s := n.people.enroll(of, user, sampleOf(text(args, "image_b64")))
		return object{"status": "enrolled", "enrolled": user, "task": text(args, "task"), "samples": s.count, "dim": dim}
	case "identify":
		limit := number(args, "threshold", threshold)
		answer := object{"status": "no_match", "user_id": nil, "score": 0.0, "threshold": limit}
		if found := n.people.search(of, sampleOf(text(args, "image_b64"))); len(found) > 0 {
			if answer["score"] = found[0].score; found[0].score >= limit {
				answer["status"], answer["user_id"] = "match", found[0].subject
			}
		}
		return answer
	case "list_enrolled":
		return object{"enrolled": n.people.subjects(of)}
	case "delete_enrolled":
		status := "not_found"
		if n.people.remove(of, user) {
			status = "deleted"
		}
		return object{"status": status, "user_id": user}
	}
	return nil
}
