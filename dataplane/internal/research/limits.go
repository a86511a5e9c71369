package research

const (
	queriesMax = 3   // searches for a question
	sourcesMax = 12  // in a prompt
	perHostMax = 3   // of them from one host
	titleMax   = 200 // runes
	snippetMax = 600 // runes
)
