package snapshot

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// index is one index file. Keys and scenes are looked up in it, everything else is read once when it is opened.
//
//	keys       SHA-256 of the key text -> version (8 bytes), CRC32C of what follows (4), principal (JSON); big endian
//	models     id -> plane.Model (JSON)
//	upstreams  id -> plane.UpstreamSpec (JSON)
//	pools      id -> plane.PoolSpec (JSON)
//	skills     name -> plane.SkillSpec (JSON)
//	scenes     plane.SceneID -> plane.Scene (JSON); looked up like keys
//	meta       "state" -> state (JSON)
type index struct {
	db *bolt.DB
	// full says that keys arrive in their order, so that pages are filled to the brim: nothing will be put in between.
	full bool
	last key.Digest // the highest that was put while full: none above it is there yet
}

// state is what an index knows besides the records. Cursor is zero in a file that is still being filled.
type state struct {
	plane.Cursor
	Keys       int64             `json:"keys"`
	Peppers    [][]byte          `json:"peppers"`
	StreamKeys map[string][]byte `json:"stream_keys"`
}

var (
	bucketKeys      = []byte("keys")
	bucketModels    = []byte("models")
	bucketUpstreams = []byte("upstreams")
	bucketPools     = []byte("pools")
	bucketSkills    = []byte("skills")
	bucketScenes    = []byte("scenes")
	bucketMeta      = []byte("meta")
	metaState       = []byte("state")
)

const keyHeaderBytes = 8 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged marks an index that cannot be trusted.
var errDamaged = errors.New("index is damaged")

// openIndex opens or creates the file at path. mapped is how many bytes of it are mapped at least, which costs addresses only;
// a file that outgrows its mapping is mapped again, after everything not yet written was copied out of the old one.
func openIndex(path string, mapped int) (x *index, err error) {
	defer asDamage(&err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // reading a mapping beyond the end of a file that was cut
	// The free list is kept in the file: without it bbolt walks all pages at every start, on a goroutine of its own that ends
	// the process when a page is damaged.
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: openTimeout, FreelistType: bolt.FreelistMapType, InitialMmapSize: mapped})
	if err != nil {
		if errors.Is(err, bolterrors.ErrTimeout) || errors.Is(err, os.ErrPermission) {
			return nil, fmt.Errorf("open index: %w", err)
		}
		return nil, fmt.Errorf("open index: %w: %w", errDamaged, err)
	}
	x = &index{db: db}
	if err := x.prepare(path); err != nil {
		_ = db.Close()
		return nil, err
	}
	return x, nil
}

// prepare checks the length of the file, which bbolt does not, and makes the buckets.
func (x *index) prepare(path string) (err error) {
	defer asDamage(&err)
	err = x.db.View(func(tx *bolt.Tx) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.Size() < tx.Size() {
			return fmt.Errorf("%w: %d bytes instead of %d", errDamaged, info.Size(), tx.Size())
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	err = x.db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{bucketKeys, bucketModels, bucketUpstreams, bucketPools, bucketSkills, bucketScenes, bucketMeta} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("prepare index: %w", err)
	}
	return nil
}

// load reads everything but the keys.
func (x *index) load() (s state, current *plane.Current, err error) {
	defer asDamage(&err)
	current = emptyCurrent()
	err = x.db.View(func(tx *bolt.Tx) error {
		if data := tx.Bucket(bucketMeta).Get(metaState); data != nil {
			if err := json.Unmarshal(data, &s); err != nil {
				return fmt.Errorf("%w: state: %w", errDamaged, err)
			}
		}
		if err := loadAll(tx.Bucket(bucketModels), current.Models); err != nil {
			return err
		}
		if err := loadAll(tx.Bucket(bucketUpstreams), current.Upstreams); err != nil {
			return err
		}
		if err := loadAll(tx.Bucket(bucketPools), current.Pools); err != nil {
			return err
		}
		return loadAll(tx.Bucket(bucketSkills), current.Skills)
	})
	current.Cursor = s.Cursor
	if err != nil {
		return state{}, nil, fmt.Errorf("load index: %w", err)
	}
	return s, current, nil
}

func emptyCurrent() *plane.Current {
	return &plane.Current{
		Models: map[string]plane.Model{}, Upstreams: map[string]plane.UpstreamSpec{}, Pools: map[string]plane.PoolSpec{},
		Skills: map[string]plane.SkillSpec{},
	}
}

func loadAll[T any](bucket *bolt.Bucket, into map[string]T) error {
	return bucket.ForEach(func(id, data []byte) error {
		var record T
		if err := json.Unmarshal(data, &record); err != nil {
			return fmt.Errorf("%w: record %q: %w", errDamaged, id, err)
		}
		into[string(id)] = record
		return nil
	})
}

// lookup returns the principal of a key.
func (x *index) lookup(digest key.Digest) (p *plane.Principal, found bool, err error) {
	defer asDamage(&err)
	err = x.db.View(func(tx *bolt.Tx) error {
		data := tx.Bucket(bucketKeys).Get(digest[:])
		if data == nil {
			return nil
		}
		if len(data) < keyHeaderBytes || crc32.Checksum(data[keyHeaderBytes:], castagnoli) != binary.BigEndian.Uint32(data[8:]) {
			return fmt.Errorf("%w: key record of %d bytes", errDamaged, len(data))
		}
		p = &plane.Principal{Seen: plane.Version(binary.BigEndian.Uint64(data))}
		if err := json.Unmarshal(data[keyHeaderBytes:], p); err != nil {
			return fmt.Errorf("%w: key record: %w", errDamaged, err)
		}
		found = true
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("look key up: %w", err)
	}
	return p, found, nil
}

// scene returns the record of a scene.
func (x *index) scene(id string) (found *plane.Scene, err error) {
	defer asDamage(&err)
	err = x.db.View(func(tx *bolt.Tx) error {
		data := tx.Bucket(bucketScenes).Get([]byte(id))
		if data == nil {
			return nil
		}
		found = &plane.Scene{}
		if err := json.Unmarshal(data, found); err != nil {
			return fmt.Errorf("%w: scene record: %w", errDamaged, err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look scene up: %w", err)
	}
	return found, nil
}

// apply writes changes and the state in one durable transaction. It counts the keys in s.
func (x *index) apply(changes []parsed, s *state) (err error) {
	defer asDamage(&err)
	keys := s.Keys
	err = x.db.Update(func(tx *bolt.Tx) error {
		keys = s.Keys
		if x.full {
			tx.Bucket(bucketKeys).FillPercent = 1
		}
		for i := range changes {
			grown, err := x.put(tx, &changes[i])
			if err != nil {
				return err
			}
			keys += grown
		}
		next := *s
		next.Keys = keys
		data, err := json.Marshal(&next)
		if err != nil {
			return err
		}
		return tx.Bucket(bucketMeta).Put(metaState, data)
	})
	if err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	s.Keys = keys
	return nil
}

// put writes one change and returns by how much the number of keys grew.
func (x *index) put(tx *bolt.Tx, c *parsed) (grown int64, err error) {
	switch c.Kind {
	case plane.KindKey:
		return x.putKey(tx.Bucket(bucketKeys), c)
	case plane.KindModel:
		return 0, putRecord[plane.Model](tx.Bucket(bucketModels), &c.Change)
	case plane.KindUpstream:
		return 0, putRecord[plane.UpstreamSpec](tx.Bucket(bucketUpstreams), &c.Change)
	case plane.KindPool:
		return 0, putRecord[plane.PoolSpec](tx.Bucket(bucketPools), &c.Change)
	case plane.KindSkill:
		return 0, putRecord[plane.SkillSpec](tx.Bucket(bucketSkills), &c.Change)
	case plane.KindScene:
		return 0, putRecord[plane.Scene](tx.Bucket(bucketScenes), &c.Change)
	default: // a newer control plane publishes something this node has no use for
		return 0, nil
	}
}

func (x *index) putKey(bucket *bolt.Bucket, c *parsed) (grown int64, err error) {
	digest, err := digestOf(c.ID)
	if err != nil {
		return 0, err
	}
	above := x.full && bytes.Compare(digest[:], x.last[:]) > 0 // which spares a look-up for nearly every key of a reset
	had := !above && bucket.Get(digest[:]) != nil
	if c.Gone {
		if had {
			grown = -1
		}
		return grown, bucket.Delete(digest[:])
	}
	if !c.checked {
		var p plane.Principal
		if err := json.Unmarshal(c.Body, &p); err != nil {
			return 0, fmt.Errorf("key record of version %d: %w", c.Version, err)
		}
	}
	if !had {
		grown = 1
	}
	if above {
		x.last = digest
	}
	data := binary.BigEndian.AppendUint64(make([]byte, 0, keyHeaderBytes+len(c.Body)), uint64(c.Version))
	data = binary.BigEndian.AppendUint32(data, crc32.Checksum(c.Body, castagnoli))
	return grown, bucket.Put(digest[:], append(data, c.Body...))
}

// putRecord keeps a record that this node can read; one it cannot read fails the batch rather than the next start.
func putRecord[T any](bucket *bolt.Bucket, c *plane.Change) error {
	if c.Gone {
		return bucket.Delete([]byte(c.ID))
	}
	var record T
	if err := json.Unmarshal(c.Body, &record); err != nil {
		return fmt.Errorf("%s record %q of version %d: %w", c.Kind, c.ID, c.Version, err)
	}
	return bucket.Put([]byte(c.ID), c.Body)
}

func digestOf(id string) (digest key.Digest, err error) {
	if len(id) != hex.EncodedLen(len(digest)) {
		return digest, fmt.Errorf("key id of %d characters", len(id))
	}
	if _, err := hex.Decode(digest[:], []byte(id)); err != nil {
		return digest, fmt.Errorf("key id: %w", err)
	}
	return digest, nil
}

// close waits for running look-ups.
func (x *index) close() error {
	if err := x.db.Close(); err != nil {
		return fmt.Errorf("close index: %w", err)
	}
	return nil
}

// asDamage turns the panics that bbolt answers damaged pages with into an error.
func asDamage(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", errDamaged, p)
	}
}
