package result

import (
	"fmt"
	"slices"
)

// The shapes of the biometric operations.

// Detect is DetectResult.
func Detect() Shape {
	return Shape{
		fields: object(
			need("detections", list(object(need("bbox", box()), need("confidence", share()), may("landmarks", list(listOf(2, 2, anyNumber())))))),
			need("count", whole()),
		),
		more: func(_, a map[string]any) string { return counts(a, "count", "detections") },
	}
}

// Extract is ExtractResult. An embedding of nothing but zeros has no direction and cannot be compared.
func Extract() Shape {
	return Shape{
		fields: object(need("embedding", listOf(1, 1<<20, anyNumber())), need("embedding_dim", whole())),
		more: func(_, a map[string]any) string {
			values, _ := a["embedding"].([]any)
			if !slices.ContainsFunc(values, func(v any) bool { n, _ := value(v); return n != 0 }) {
				return "the embedding is all zeros"
			}
			return counts(a, "embedding_dim", "embedding")
		},
	}
}

// Compare is CompareResult.
func Compare() Shape {
	return Shape{fields: object(
		need("match", truth), need("score", anyNumber()), need("confidence", share()), need("threshold", anyNumber()),
	)}
}

// Identify is IdentifyResult.
func Identify() Shape {
	return Shape{
		fields: object(
			need("matches", list(object(need("id", text), need("score", anyNumber()), need("confidence", share())))),
			need("total_matches", whole()),
		),
		more: func(_, a map[string]any) string {
			matches, _ := a["matches"].([]any)
			if total, _ := value(a["total_matches"]); int(total) < len(matches) {
				return fmt.Sprintf("total_matches is %g for %d matches", total, len(matches))
			}
			return ""
		},
	}
}

// Enroll is EnrollResult.
func Enroll() Shape {
	return Shape{
		fields: object(need("status", word("enrolled")), need("org_id", text), need("subject_id", text), need("embedding_dim", whole())),
		more:   sameSubject,
	}
}

// Delete is DeleteEnrollmentResult.
func Delete() Shape {
	return Shape{fields: object(need("deleted", truth), need("org_id", text), need("subject_id", text)), more: sameSubject}
}

// Match is MatchResult.
func Match() Shape {
	return Shape{
		fields: object(
			need("matched", truth), need("subject_id", nullable(text)), need("score", nullable(anyNumber())), need("threshold", anyNumber()),
			need("candidates", list(object(need("subject_id", text), need("score", anyNumber())))),
		),
		more: func(_, a map[string]any) string {
			if matched, _ := a["matched"].(bool); matched == (a["subject_id"] == nil) || matched && a["score"] == nil {
				return "matched does not go with subject_id and score"
			}
			return ""
		},
	}
}

// sameSubject wants the answer to be about the subject that was asked for.
func sameSubject(asked, answer map[string]any) string {
	input, _ := asked["input_data"].(map[string]any)
	for _, name := range []string{"org_id", "subject_id"} {
		if input[name] != answer[name] {
			return name + " is not the one that was asked for"
		}
	}
	return ""
}

// counts wants a number to be the length of a list.
func counts(answer map[string]any, number, of string) string {
	items, _ := answer[of].([]any)
	if n, _ := value(answer[number]); n != float64(len(items)) {
		return fmt.Sprintf("%s is %g for %d of %s", number, n, len(items), of)
	}
	return ""
}
