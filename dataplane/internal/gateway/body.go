package gateway

import (
	"bytes"
	"context"
	"io"
	"net/netip"

	"github.com/valyala/fasthttp"

	"modelgate.internal/dataplane/internal/listener"
)

// takeBody gives the call its body: whole, or to be read bit by bit if the operation takes uploads. A body that has not been read yet
// is read now that it is known on whose behalf. When the call ends, so does the reading.
func (x *exchange) takeBody() error {
	body := x.ctx.Request.Body()
	var arriving *listener.Upload
	coded := false
	if x.conn != nil {
		arriving, coded = x.conn.Upload(), x.conn.Coded()
	}
	if arriving == nil && !coded && x.op.upload == 0 { // as usual
		x.Body = body
		return nil
	}
	var from io.Reader = bytes.NewReader(body)
	length, limit := int64(len(body)), x.op.upload
	if limit == 0 {
		limit = int64(x.g.BodyMax(x.ctx.Path()))
	}
	if arriving != nil {
		from, length = arriving, arriving.Length()
		x.detach = context.AfterFunc(x.Ctx, arriving.Abort)
	}
	if coded {
		var err error
		if from, err = decoded(x.ctx.Request.Header.PeekAll("Content-Encoding"), from, limit); err != nil {
			return err
		}
		length = lengthUnknown
	}
	if x.op.upload > 0 {
		x.ContentType = string(x.ctx.Request.Header.ContentType())
		x.Upload, x.UploadLength = from, length
		return nil
	}
	if x.op.Method == fasthttp.MethodGet || x.op.Method == fasthttp.MethodHead { // it has no use for a body
		return nil
	}
	var err error
	x.Body, err = x.conn.ReadBody(from, length, limit, x.account())
	return err
}

// lengthUnknown is the length of a body that does not state one.
const lengthUnknown = -1

// account is who holds the memory of the body: the caller's account, or the address of a caller without a key.
func (x *exchange) account() string {
	if x.Caller != nil {
		return x.Caller.Account()
	}
	peer, _ := netip.AddrFromSlice(x.ctx.RemoteIP())
	return peer.String()
}

// dropBody gives the memory of a body back that nobody needs any more.
func (x *exchange) dropBody() {
	if x.conn != nil {
		x.Body = nil
		x.conn.ReleaseBody()
	}
}
