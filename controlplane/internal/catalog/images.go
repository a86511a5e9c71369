package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/wire"
)

// Images are the images of an installation.
type Images struct {
	all []Image // newest first within a target
}

// NewImages returns the images in the order of their first appearance by target, of one target the newest first; of equally
// old ones the one that is written first. An error lists everything that is wrong with what is written; the files
// themselves are not looked at.
func NewImages(images []Image) (*Images, error) {
	if len(images) > ImagesMax {
		return &Images{}, fmt.Errorf("images: %d of them, more than %d", len(images), ImagesMax)
	}
	var errs []error
	seen, order := make(map[[2]string]bool), make(map[string]int)
	for _, i := range images {
		errs = append(errs, i.wellFormed())
		if seen[[2]string{i.Target, i.Version}] {
			errs = append(errs, fmt.Errorf("images: %s %s is there twice", i.Target, i.Version))
		}
		seen[[2]string{i.Target, i.Version}] = true
		if _, known := order[i.Target]; !known {
			order[i.Target] = len(order)
		}
	}
	all := slices.Clone(images)
	slices.SortStableFunc(all, func(a, b Image) int {
		return cmp.Or(cmp.Compare(order[a.Target], order[b.Target]), b.ReleasedAt.Compare(a.ReleasedAt))
	})
	return &Images{all: all}, errors.Join(errs...)
}

// Check compares the files with what is written of them: there, readable, of that size and digest. It reads them all.
func (i *Images) Check() error {
	var errs []error
	for _, image := range i.all {
		errs = append(errs, image.matches())
	}
	return errors.Join(errs...)
}

// List returns all images. Files are looked at, so that one which has gone is told as not available.
func (i *Images) List() wire.ImageBuildList {
	list := wire.ImageBuildList{Builds: make([]wire.ImageBuild, len(i.all))}
	for n, image := range i.all {
		b := wire.ImageBuild{
			Target: image.Target, Name: cmp.Or(image.Name, image.Target), Version: image.Version, Format: image.Format(),
			Available:    image.Location != "",
			DownloadPath: "/dev/download/image/" + url.PathEscape(image.Target) + "?version=" + url.QueryEscape(image.Version),
		}
		if image.SizeBytes > 0 {
			b.SizeBytes = &image.SizeBytes
		}
		if image.SHA256 != "" {
			b.SHA256 = &image.SHA256
		}
		if !image.ReleasedAt.IsZero() {
			at := image.ReleasedAt.UTC()
			b.ReleasedAt = &at
		}
		if image.Location != "" && !image.Remote() {
			info, err := os.Stat(image.Location)
			b.Available = err == nil && info.Mode().IsRegular()
			if b.Available {
				size := info.Size()
				b.SizeBytes = &size
			}
		}
		list.Builds[n] = b
	}
	return list
}

// Find returns the image of a target in a version, the newest that has a location when version is empty. Names are
// compared with those that are configured and never become part of a path. The error is a 404 that says what is missing.
func (i *Images) Find(target, version string) (Image, error) {
	var versions []string
	for _, image := range i.all {
		if image.Target != target {
			continue
		}
		if image.Version == version || version == "" && image.Location != "" {
			if image.Location == "" {
				return Image{}, Unavailable(image)
			}
			return image, nil
		}
		versions = append(versions, image.Version)
	}
	switch {
	case len(i.all) == 0:
		return Image{}, apierr.New(apierr.NotFound, "No image can be downloaded here: the operator's setting images is empty.")
	case len(versions) == 0:
		return Image{}, apierr.New(apierr.NotFound, fmt.Sprintf(
			"There is no image for the target %.64q. The targets are %s.", target, strings.Join(i.targets(), ", ")))
	case version == "":
		return Image{}, apierr.New(apierr.NotFound, fmt.Sprintf("No download location is configured for any image of %s.", target))
	}
	return Image{}, apierr.New(apierr.NotFound, fmt.Sprintf(
		"There is no version %.64q of the image for %s. The versions are %s.", version, target, strings.Join(versions, ", ")))
}

// Unavailable is the 404 for an image that is listed and cannot be had.
func Unavailable(i Image) *apierr.Error {
	if i.Location == "" {
		return apierr.New(apierr.NotFound, fmt.Sprintf("No download location is configured for version %s of the image for %s.", i.Version, i.Target))
	}
	return apierr.New(apierr.NotFound, fmt.Sprintf("The file of version %s of the image for %s is not there at the moment.", i.Version, i.Target))
}

func (i *Images) targets() []string {
	var targets []string
	for _, image := range i.all {
		if !slices.Contains(targets, image.Target) {
			targets = append(targets, image.Target)
		}
	}
	return targets
}

func digest(r io.Reader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
