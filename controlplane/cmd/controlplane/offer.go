package main

import (
	"errors"

	"modelgate.internal/controlplane/internal/catalog"
	"modelgate.internal/shared/wire"
)

// offer is what the portal says there is to have: the catalog and the images for hardware. The images' files are not
// looked at.
func (c *Config) offer() (wire.Catalog, *catalog.Images, error) {
	made, err := catalog.Make(c.Models, c.Skills)
	images, imagesErr := catalog.NewImages(c.Images)
	return made, images, errors.Join(err, imagesErr)
}

// checkOffer reports what is wrong with it, files included, which are read.
func (c *Config) checkOffer() error {
	_, images, err := c.offer()
	return errors.Join(err, images.Check())
}
