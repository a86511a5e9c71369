package catalog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/catalog"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

func TestCatalogIsWhatIsConfigured(t *testing.T) {
	c, err := catalog.Make([]plane.Model{
		{ID: "Nova", Family: "darwin", Tasks: []string{"conversation", "poetry"}}, {ID: "Darwin", Family: "darwin", Tasks: []string{"poetry"}},
	}, []plane.SkillSpec{{Name: "rhyme", Description: "Finds a rhyme.", Family: "darwin", Task: "poetry", Upstream: "secret"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Models) != 2 || c.Models[0].ID != "Nova" || c.Models[0].Default || !c.Models[1].Default || c.Models[1].Description == "" {
		t.Errorf("models %+v", c.Models)
	}
	if len(c.Skills) != 1 || c.Skills[0] != (wire.CatalogSkill{Name: "rhyme", Description: "Finds a rhyme.", Family: "darwin"}) {
		t.Errorf("skills %+v", c.Skills)
	}
	for _, s := range []plane.SkillSpec{{Name: "a", Family: "cats", Task: "face"}, {Name: "b", Family: "biometrix", Task: "poetry"}} {
		if _, err := catalog.Make(nil, []plane.SkillSpec{s}); err == nil || !strings.Contains(err.Error(), s.Name+" has the task") {
			t.Errorf("skill of a task that does not exist: %v", err)
		}
	}
	var tasks []string
	for _, task := range c.Families[1].Tasks {
		tasks = append(tasks, task.ID)
	}
	if got := strings.Join(tasks, " "); got != "conversation reasoning planning code vision speech_to_text text_to_speech voice_footprint voice_analysis translation deep_search image_generation poetry" {
		t.Errorf("tasks %s", got)
	}
	if p := c.Plans; len(p) != 4 || p[0].ID != "free" || p[0].CallsPerDay != 100 || *p[0].Apps != 2 || p[0].RatePerMinute != 30 || p[3].Apps != nil {
		t.Errorf("plans %+v", p)
	}
	if _, err := catalog.Make([]plane.Model{{ID: "X", Family: "cats"}, {ID: "Y"}}, nil); err == nil || !strings.Contains(err.Error(), "X has the family") || !strings.Contains(err.Error(), "Y has") {
		t.Errorf("families that do not exist: %v", err)
	}
	if c, err := catalog.Make(nil, nil); err != nil || c.Models == nil || len(c.Families) != 3 {
		t.Errorf("without models: %+v %v", c, err)
	}
}

func TestWhatIsWrongWithImages(t *testing.T) {
	good := catalog.Image{Target: "rpi4", Version: "1"}
	if _, err := catalog.NewImages([]catalog.Image{good, {Target: "rpi4", Version: "2", Location: "https://example.com/a.img"}}); err != nil {
		t.Fatal(err)
	}
	for want, images := range map[string][]catalog.Image{
		"target":                {{Target: "../rpi4", Version: "1"}},
		"version":               {{Target: "rpi4"}},
		"there twice":           {good, good},
		"64 lower-case":         {{Target: "rpi4", Version: "1", SHA256: strings.Repeat("A", 64)}},
		"negative":              {{Target: "rpi4", Version: "1", SizeBytes: -1}},
		"only https is taken":   {{Target: "rpi4", Version: "1", Location: "http://example.com/a.img"}},
		"of the form https":     {{Target: "rpi4", Version: "1", Location: "https:///a.img"}},
		"without a user":        {{Target: "rpi4", Version: "1", Location: "https://me:secret@example.com/a.img"}},
		"absolutely":            {{Target: "rpi4", Version: "1", Location: "a.img"}},
		"longer than":           {{Target: "rpi4", Version: "1", Location: "/" + strings.Repeat("a", 5000)}},
		"more than 256":         make([]catalog.Image, 257),
		"letters, digits, dots": {{Target: strings.Repeat("a", 65), Version: "1"}},
	} {
		_, err := catalog.NewImages(images)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if err != nil && strings.Contains(err.Error(), "me:secret") {
			t.Errorf("a password is shown: %v", err)
		}
	}
}

func TestCheckReadsTheFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.img")
	if err := os.WriteFile(file, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // FIPS 180-2, of "abc"
	for _, tt := range []struct {
		image catalog.Image
		want  string
	}{
		{catalog.Image{Location: file, SizeBytes: 3, SHA256: sum}, ""},
		{catalog.Image{Location: file}, ""},
		{catalog.Image{}, ""},
		{catalog.Image{Location: "https://example.invalid/a.img", SizeBytes: 9}, ""},
		{catalog.Image{Location: file, SizeBytes: 4}, "3 bytes"},
		{catalog.Image{Location: file, SHA256: strings.Repeat("0", 64)}, "digest is " + sum},
		{catalog.Image{Location: file + ".gone"}, "find the image"},
		{catalog.Image{Location: filepath.Dir(file)}, "not a regular file"},
	} {
		tt.image.Target, tt.image.Version = "rpi4", "1"
		images, err := catalog.NewImages([]catalog.Image{tt.image})
		if err != nil {
			t.Fatal(err)
		}
		err = images.Check()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.image, err, tt.want)
		}
	}
}

func TestTheNewestIsGiven(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	images, err := catalog.NewImages([]catalog.Image{
		{Target: "a", Version: "undated", Location: "https://example.com/0"},
		{Target: "a", Version: "old", Location: "https://example.com/1", ReleasedAt: day(1)},
		{Target: "a", Version: "new", Location: "https://example.com/2", ReleasedAt: day(3)},
		{Target: "a", Version: "next", ReleasedAt: day(9)},
		{Target: "b", Version: "first", Location: "https://example.com/3"},
		{Target: "b", Version: "second", Location: "https://example.com/4"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{"a": "new", "b": "first"} {
		if got, err := images.Find(target, ""); err != nil || got.Version != want {
			t.Errorf("%s: %s %v, want %s", target, got.Version, err, want)
		}
	}
	var order []string
	for _, b := range images.List().Builds {
		order = append(order, b.Version)
	}
	if got := strings.Join(order, " "); got != "next new old undated first second" {
		t.Errorf("listed %s", got)
	}
}

func TestFormats(t *testing.T) {
	for location, want := range map[string]string{
		"/srv/modelgate-0.2.0.img.xz": "img.xz", "https://example.com/a/b.ZIP?sig=x.img": "zip", "/srv/image": "bin", "": "bin",
		"https://example.com": "bin", "/srv/a.gz": "gz",
	} {
		if got := (catalog.Image{Location: location}).Format(); got != want {
			t.Errorf("%s: %s, want %s", location, got, want)
		}
	}
}
