// Package openai reads chat completion requests as OpenAI's API defines them and judges what is passed on of them.
//
// What an upstream is sent are the members that every server knows, as the caller wrote them. Others are passed on by
// [Request.Extend] to servers that are configured for them: among them are some by which a caller would spend, store or fetch in
// the operator's name (service_tier, store, web_search_options). Of what is left, that which changes no answer is ignored, as the
// contract says, and the rest is refused by its name. Content can be text, an image or sound that the request itself holds, and
// nothing that the model server would have to fetch. Objects are read with exact names, the last of equal ones counting, as
// model servers read them.
//
// It does not answer, route or speak HTTP.
//
// Concurrency: functions of their arguments. Failure: everything that is wrong with a request is a 422 of package bind, a 400 with
// a code for a member that is refused, or a 400 for a body that is no JSON object; the encoder gives them the form that OpenAI's clients know.
//
// Source: https://platform.openai.com/docs/api-reference/chat/create
package openai
