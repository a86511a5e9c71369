package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"modelgate.internal/controlplane/internal/rewrap"
)

// TestEverythingSealedIsRewrapped walks over the schema: every table that keeps something sealed is counted, listed and moved when
// key-encryption keys are replaced. One that is forgotten could not be opened any more once an old key has been dropped.
func TestEverythingSealedIsRewrapped(t *testing.T) {
	s := open(t)
	type column struct {
		Table string `db:"table_name"`
		Name  string `db:"column_name"`
	}
	found, err := rows[column](t.Context(), s.pool, `
		SELECT table_name, column_name FROM information_schema.columns
		WHERE table_schema = 'public' AND column_name IN ('kek_id', 'sealed_key', 'nonce', 'ciphertext') ORDER BY table_name, column_name`)
	if err != nil {
		t.Fatal(err)
	}
	sealed := make(map[string][]string)
	for _, c := range found {
		sealed[c.Table] = append(sealed[c.Table], c.Name)
	}
	for table, columns := range sealed {
		if want := []string{"ciphertext", "kek_id", "nonce", "sealed_key"}; !slices.Equal(columns, want) {
			t.Errorf("%s has %v of a sealed value, which is %v: one of these names in a table of another purpose hides what is sealed", table, columns, want)
		}
		for _, missing := range notRewrapped(table, rewrapStatements()) {
			t.Error(missing)
		}
	}
	if len(sealed) != len(rewrap.Kinds()) {
		t.Errorf("%d tables keep sealed values, and rewrap knows the kinds %v", len(sealed), rewrap.Kinds())
	}
	if len(notRewrapped("a_new_table", rewrapStatements())) != 3 {
		t.Error("a table that nobody thought of would pass")
	}
}

// notRewrapped is what is missing for the sealed values of a table.
func notRewrapped(table string, statements map[string]string) (missing []string) {
	count, list, move := false, false, false
	for name, sql := range statements {
		from := strings.Contains(sql, "FROM "+table+" ") || strings.Contains(sql, "FROM "+table+"\n")
		count = count || name == "countSealed" && from
		list = list || strings.HasPrefix(name, "select") && from && strings.Contains(sql, "kek_id <>")
		move = move || strings.Contains(sql, "UPDATE "+table+" SET kek_id")
	}
	for what, done := range map[string]bool{"counted": count, "listed for a new key": list, "moved to a new key": move} {
		if !done {
			missing = append(missing, fmt.Sprintf("sealed values of %s are not %s", table, what))
		}
	}
	return missing
}
