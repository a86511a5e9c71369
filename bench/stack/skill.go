package stack

import "modelgate.internal/shared/plane"

const (
	skillsID      = "skills" // of the upstream
	skillsSetting = "MODELGATE_SKILLS_URL"
	skillsKey     = "MODELGATE_SKILLS_KEY"
)

// skillCatalog returns the skills and the server that hosts them, with the credentials of the nodes for it. Without a server they
// are simulated if the chat is; else nothing serves them.
func (s *Stack) skillCatalog(credentials map[string]string) (skills []plane.SkillSpec, upstreams []plane.UpstreamSpec) {
	spec := plane.UpstreamSpec{ID: skillsID, Dialect: plane.DialectNative, BaseURL: s.variable(skillsSetting)}
	switch {
	case spec.BaseURL != "":
		if s.variable(skillsKey) != "" {
			spec.Credential, credentials[skillsID] = skillsID, "env:"+skillsKey
		}
	case s.simulated():
		spec.BaseURL, spec.Simulator = "http://"+s.address(portSimulator)+"/native", true
	}
	served := ""
	if spec.BaseURL != "" {
		served, upstreams = skillsID, append(upstreams, spec)
	}
	for _, v := range []struct{ name, family, task, description string }{
		{"biometrix_enroll", "biometrix", "face", "Registers a person's sample under a user_id; lists and deletes enrollments."},
		{"biometrix_identify", "biometrix", "face", "Matches a sample against the enrolled users."},
		{"biometrix_face", "biometrix", "face", "Detects, recognises and matches faces."},
		{"biometrix_iris", "biometrix", "iris", "Detects and recognises irises."},
		{"biometrix_liveness", "biometrix", "liveness", "Tells a present person from a presentation attack."},
		{"biometrix_gait", "biometrix", "gait", "Recognises people by the way they walk."},
		{"biometrix_person_reid", "biometrix", "person_reid", "Finds the same person in other images."},
		{"emoticore_text", "emoticore", "text", "Finds sentiment and emotion in text."},
		{"emoticore_face", "emoticore", "face", "Finds emotion in facial expressions."},
		{"emoticore_voice", "emoticore", "voice", "Finds emotion in the tone of a voice."},
		{"emoticore_multimodal", "emoticore", "multimodal", "Fuses emotion in text, face and voice."},
		{"create_pdf", "darwin", "conversation", "Creates a document of a title and sections."},
		{"firmware_build", "darwin", "code", "Builds firmware; answers with a job."},
	} {
		skills = append(skills, plane.SkillSpec{
			Name: v.name, Description: v.description, Kind: plane.SkillHosted, Family: v.family, Task: v.task,
			Upstream: served, Path: "/skills/" + v.name, Setting: skillsSetting,
		})
	}
	return skills, upstreams
}
