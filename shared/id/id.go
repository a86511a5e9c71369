package id

// textBytes is the length of a UUID as text: 32 hexadecimal digits and four dashes.
const textBytes = 36

// Valid reports whether a text is an id as we write it: a UUID in lower case with dashes (RFC 9562, 4). Other spellings of the same
// UUID (urn:uuid:…, {…}, 32 digits, upper case) are no ids. The database takes some of them and not others, and what has one
// spelling can be compared as text.
func Valid(text string) bool {
	if len(text) != textBytes {
		return false
	}
	for i := range len(text) {
		c := text[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}
