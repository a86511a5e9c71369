package ledger

import "encoding/binary"

// packedID is an ID without the padding of its struct, which would be a quarter of the map of all limits.
type packedID [17]byte

func (i ID) pack() (p packedID) {
	p[0] = byte(i.Kind)
	binary.LittleEndian.PutUint64(p[1:], i.Hi)
	binary.LittleEndian.PutUint64(p[9:], i.Lo)
	return p
}

// find returns the account of a limit, nil if there is none.
func (s *State) find(id ID) *account {
	if place, ok := s.places[id.pack()]; ok {
		return s.slab[place]
	}
	return nil
}

func (s *State) insert(a *account) {
	a.index = uint32(len(s.slab))
	s.places[a.id.pack()] = a.index
	s.slab = append(s.slab, a)
}

// remove drops an account. The last one of the slab takes its place.
func (s *State) remove(a *account) {
	delete(s.places, a.id.pack())
	last := s.slab[len(s.slab)-1]
	if last != a {
		s.own(last) // it may move to where a running capture has been
		last.index = a.index
		s.slab[a.index] = last
		s.places[last.id.pack()] = last.index
	}
	s.slab[len(s.slab)-1] = nil
	s.slab = s.slab[:len(s.slab)-1]
}
