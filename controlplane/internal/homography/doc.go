// Package homography finds the projective map from a camera's image to the floor from pairs of points.
//
// Method: normalised direct linear transformation inside RANSAC, refitted on the inliers (Hartley and Zisserman, Multiple
// View Geometry in Computer Vision, 2nd edition, algorithms 4.2 and 4.5). The null vector comes from the 9 x 9 normal
// matrix by Jacobi rotations. Samples are drawn with a fixed seed: the same points always give the same matrix,
// on machines of one kind to the last bit.
//
// The package is arithmetic only, keeps no state and is safe for concurrent use. It fails when the points define no map,
// and says so rather than guess.
package homography
