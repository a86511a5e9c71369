package result

import "strings"

// jobPath is where the events of a job are.
const jobPath = "/api/v1/firmware/jobs/"

// Answer is the answer of a task whose result the contract leaves open: any object, but one that names a type of the contract must
// be of that type.
func Answer() Shape {
	return Shape{fields: func(at string, v any) string {
		answer, _ := v.(map[string]any)
		if answer["error"] != nil {
			return at + " tells of an error under a good status"
		}
		of, ok := answer["type"]
		if !ok {
			return ""
		}
		name, _ := of.(string)
		fields, ok := typed()[name]
		if !ok {
			return at + " has a type that the contract does not have"
		}
		return fields(at, v)
	}}
}

// Event is an answer, or an event of a stream: text as it comes, or what a job does.
func Event() Shape {
	whole := Answer().fields
	return Shape{fields: func(at string, v any) string {
		event, _ := v.(map[string]any)
		switch event["type"] {
		case "delta":
			return object(need("text", anyText))(at, v)
		case "status":
			return object(need("status", jobStatus()))(at, v)
		case "progress":
			return object(need("progress", share()), may("message", anyText))(at, v)
		case "diagnostic":
			return object(need("message", anyText))(at, v)
		case "done":
			return object(may("artifact", object(need("name", text), need("url", text))))(at, v)
		}
		return whole(at, v)
	}}
}

// typed are the types of an AgentResponse.
func typed() map[string]rule {
	return map[string]rule{
		"text": object(
			need("text", anyText), need("model", text),
			need("usage", object(need("tokens_in", whole()), need("tokens_out", whole()), need("source", word("provider", "counted", "estimated")))),
			may("backend", word("upstream", "simulator", "none", "embedded", "engine")),
		),
		"image":   object(need("image_b64", text)),
		"video":   object(need("video_b64", text)),
		"model3d": glb,
		"audio":   object(need("audio_b64", text)),
		"job": object(need("skill", text), need("job", object(
			need("id", text), need("status", jobStatus()), need("stream", jobStream),
		))),
	}
}

func glb(at string, v any) string {
	answer, _ := v.(map[string]any)
	if text(at, answer["model_b64"]) != "" && text(at, answer["model_url"]) != "" {
		return at + " has neither model_b64 nor model_url"
	}
	return ""
}

func jobStatus() rule { return word("queued", "running", "done", "failed", "cancelled") }

func jobStream(at string, v any) string {
	path, _ := v.(string)
	if id, ok := strings.CutPrefix(path, jobPath); !ok || id == "" || strings.Contains(id, "/") {
		return at + " is not " + jobPath + "{job_id}"
	}
	return ""
}

// Skill is the answer of a skill to its arguments: one whose result the contract describes must fit, others are like [Answer].
func Skill(name string, args map[string]any) Shape {
	if name != "biometrix_enroll" && name != "biometrix_identify" {
		return Answer()
	}
	switch args["action"] {
	case "enroll":
		return Shape{
			fields: object(
				need("status", word("enrolled")), need("enrolled", text), need("task", text), need("samples", whole()), need("dim", whole()),
			),
			more: func(_, a map[string]any) string {
				if a["enrolled"] != args["user_id"] {
					return "enrolled is not the user_id that was asked for"
				}
				return ""
			},
		}
	case "identify":
		return Shape{
			fields: object(
				need("status", word("match", "no_match")), need("user_id", nullable(text)), need("score", share()), need("threshold", share()),
			),
			more: func(_, a map[string]any) string {
				if (a["status"] == "match") != (a["user_id"] != nil) {
					return "status does not go with user_id"
				}
				return ""
			},
		}
	case "list_enrolled":
		return Shape{fields: object(need("enrolled", list(text)))}
	case "delete_enrolled":
		return Shape{fields: object(need("status", word("deleted", "not_found")), need("user_id", text))}
	}
	return Answer()
}
