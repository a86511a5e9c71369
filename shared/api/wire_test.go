package api_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"modelgate.internal/shared/wire"
)

// wireTypes returns a value of every struct of shared/wire. Each has the name of its schema.
func wireTypes() []any {
	return []any{
		wire.DemoList{},
		wire.Demo{},
		wire.RegisterRequest{},
		wire.LoginRequest{},
		wire.Session{},
		wire.Developer{},
		wire.GoogleClientID{},
		wire.GoogleLoginRequest{},
		wire.VerificationSent{},
		wire.BillingConfig{},
		wire.PricedPlan{},
		wire.Price{},
		wire.CheckoutRequest{},
		wire.CheckoutSession{},
		wire.CheckoutState{},
		wire.BillingEventReceived{},
		wire.BillingPortal{},
		wire.BillingState{},
		wire.BillingSubscription{},
		wire.OverLimit{},
		wire.LimitedApp{},
		wire.KeepAppsRequest{},
		wire.AlertSettings{},
		wire.AlertDelivery{},
		wire.AlertRequest{},
		wire.AlertSecret{},
		wire.UsageAlert{},
		wire.ChangePlanRequest{},
		wire.BillingPreview{},
		wire.InvoiceLine{},
		wire.InvoiceList{},
		wire.Invoice{},
		wire.VerifyEmailRequest{},
		wire.EmailVerified{},
		wire.Account{},
		wire.DeleteAccountRequest{},
		wire.AccountExport{},
		wire.KeyRead{},
		wire.ExportedUsage{},
		wire.ExportedCamera{},
		wire.ForgotPasswordRequest{},
		wire.MailAccepted{},
		wire.ResetPasswordRequest{},
		wire.PasswordReset{},
		wire.LoginChallenge{},
		wire.LoginTOTPRequest{},
		wire.TOTPState{},
		wire.TOTPRequest{},
		wire.TOTPEnrolment{},
		wire.TOTPConfirmRequest{},
		wire.TOTPConfirmed{},
		wire.TOTPDisableRequest{},
		wire.SessionInfo{},
		wire.SessionList{},
		wire.SessionsEnded{},
		wire.ChangePasswordRequest{},
		wire.Limits{},
		wire.DayLimit{},
		wire.MinuteLimit{},
		wire.MinuteUse{},
		wire.KeyMinute{},
		wire.AppMinute{},
		wire.AppLimit{},
		wire.Catalog{},
		wire.CatalogFamily{},
		wire.CatalogTask{},
		wire.CatalogModel{},
		wire.CatalogSkill{},
		wire.Plan{},
		wire.ImageBuildList{},
		wire.ImageBuild{},
		wire.Metrics{},
		wire.MetricsQuery{},
		wire.FormattedMetrics{},
		wire.FormattedMetric{},
		wire.TrackRequest{},
		wire.Tracked{},
		wire.MetricsDebug{},
		wire.MetricsReset{},
		wire.ServiceInfo{},
		wire.CreateAppRequest{},
		wire.UpdateAppRequest{},
		wire.App{},
		wire.AppList{},
		wire.AppDetail{},
		wire.AppUpdated{},
		wire.AppDeleted{},
		wire.Receipt{},
		wire.NodeApplied{},
		wire.NodeMissing{},
		wire.RegenerateKeyRequest{},
		wire.Key{},
		wire.NewKey{},
		wire.KeyRevoked{},
		wire.OrgRequest{},
		wire.OrgDetail{},
		wire.OrgMember{},
		wire.Invite{},
		wire.InviteRequest{},
		wire.InviteSent{},
		wire.InviteRevoked{},
		wire.InviteInfo{},
		wire.AcceptInviteRequest{},
		wire.InviteAccepted{},
		wire.AddMemberRequest{},
		wire.RoleRequest{},
		wire.MemberRemoved{},
		wire.DeveloperSearch{},
		wire.FoundDeveloper{},
		wire.EmailConfig{},
		wire.TestEmailSent{},
		wire.AuditRecord{},
		wire.AuditPage{},
		wire.RequestPage{},
		wire.RequestEntry{},
		wire.AuditVerdict{},
		wire.RevealedKey{},
		wire.StreamKey{},
		wire.DarwinToken{},
		wire.DarwinTokenList{},
		wire.NewDarwinToken{},
		wire.CalibrateRequest{},
		wire.CalibrateResult{},
		wire.Counters{},
		wire.AppUsage{},
		wire.UsagePoint{},
		wire.KeyUsage{},
		wire.ModelUsage{},
		wire.TaskUsage{},
		wire.StatusUsage{},
		wire.AccountUsage{},
		wire.Usage{},
		wire.Latency{},
		wire.Percentiles{},
		wire.AppGroup{},
		wire.SourceUsage{},
		wire.AgentRequest{},
		wire.Message{},
		wire.GenerateRequest{},
		wire.TextAnswer{},
		wire.ImageAnswer{},
		wire.TranslateRequest{},
		wire.PublicTranslateRequest{},
		wire.Translation{},
		wire.LanguageList{},
		wire.Language{},
		wire.DeepSearchRequest{},
		wire.TokenUsage{},
		wire.ErrorEvent{},
		wire.LimitReachedEvent{},
		wire.MostLimit{},
		wire.OrgLimits{},
		wire.ModelCatalog{},
		wire.Models{},
		wire.Model{},
		wire.DryRun{},
		wire.DryRunCaller{},
		wire.DryRunLimit{},
		wire.DryRunRoute{},
		wire.DryRunMember{},
		wire.DryRunWould{},
		wire.OpenAIModels{},
		wire.OpenAIModel{},
		wire.OpenAIError{},
		wire.OpenAIErrorBody{},
		wire.SkillList{},
		wire.Skill{},
		wire.InvokeRequest{},
		wire.BiometrixArgs{},
		wire.CreatePDFArgs{},
		wire.Intrinsics{},
		wire.DepthRequest{},
		wire.DepthDetection{},
		wire.SpatialRequest{},
		wire.MulticamRequest{},
		wire.CameraCalibration{},
		wire.CameraView{},
		wire.TrackingRequest{},
		wire.TrackingFrame{},
		wire.TrackingDetection{},
		wire.BiometricCall{},
		wire.ImageInput{},
		wire.ImageTaskRequest{},
		wire.CompareRequest{},
		wire.CompareInput{},
		wire.EnrollRequest{},
		wire.EnrollInput{},
		wire.DeleteEnrollmentRequest{},
		wire.SubjectInput{},
		wire.MatchRequest{},
		wire.MatchInput{},
		wire.TranscribeRequest{},
		wire.Transcript{},
		wire.TranscriptSegment{},
		wire.SttStatus{},
		wire.SttUpstream{},
		wire.SynthesizeRequest{},
		wire.Speech{},
		wire.Synthesis{},
		wire.VoiceRequest{},
		wire.VoiceCharacteristics{},
		wire.PitchStatistics{},
		wire.GenderEstimate{},
		wire.EnergyStatistics{},
		wire.VoiceIDRequest{},
		wire.VoiceFootprint{},
		wire.Health{},
		wire.ConfigHealth{},
	}
}

// TestWireMatchesContract compares the structs with the schemas of the same names: properties, types, what is required
// and what may be null, and for request bodies also bounds, allowed values, defaults and secrets.
func TestWireMatchesContract(t *testing.T) {
	schemas := load(t).Components.Schemas
	declared := declaredTypes(t)
	for _, value := range wireTypes() {
		typ := reflect.TypeOf(value)
		delete(declared, typ.Name())
		t.Run(typ.Name(), func(t *testing.T) {
			ref := schemas[typ.Name()]
			if ref == nil {
				t.Fatal("the contract has no such schema")
			}
			for _, problem := range compareStruct(typ, flatten(ref.Value)) {
				t.Error(problem)
			}
		})
	}
	for name := range declared {
		t.Errorf("wire.%s is not compared; add it to wireTypes", name)
	}
}

// declaredTypes returns the names of the exported structs in the source of shared/wire.
func declaredTypes(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../wire/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of shared/wire: %v", err)
	}
	names := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if _, isStruct := spec.Type.(*ast.StructType); isStruct && spec.Name.IsExported() {
				names[spec.Name.Name] = true
			}
			return true
		})
	}
	return names
}

// field is a property as a struct declares it.
type field struct {
	typ       reflect.Type // without the pointer
	nullable  bool
	omittable bool
	bind      map[string]string
}

// fields reads the json and bind tags of a struct, embedded structs included.
func fields(typ reflect.Type) map[string]field {
	found := map[string]field{}
	for sf := range typ.Fields() {
		if sf.Anonymous {
			maps.Copy(found, fields(sf.Type))
			continue
		}
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		f := field{typ: sf.Type, omittable: strings.Contains(options, "omit"), bind: map[string]string{}}
		if f.typ.Kind() == reflect.Pointer {
			f.typ, f.nullable = f.typ.Elem(), !f.omittable // nil is left out then, never null
		}
		for rule := range strings.SplitSeq(sf.Tag.Get("bind"), ",") {
			key, arg, _ := strings.Cut(rule, "=")
			f.bind[key] = arg
		}
		found[name] = f
	}
	return found
}

func compareStruct(typ reflect.Type, want view) []string {
	declared := fields(typ)
	got, properties := slices.Sorted(maps.Keys(declared)), slices.Sorted(maps.Keys(want.properties))
	if !slices.Equal(got, properties) {
		return []string{fmt.Sprintf("fields %v, properties %v", got, properties)}
	}
	request := strings.HasSuffix(typ.Name(), "Request") || strings.HasSuffix(typ.Name(), "Args") || typ == reflect.TypeFor[wire.CameraCalibration]() ||
		typ == reflect.TypeFor[wire.Message]() || typ == reflect.TypeFor[wire.MetricsQuery]()
	var problems []string
	for _, name := range got {
		f, ref := declared[name], want.properties[name]
		property := flatten(ref.Value)
		report := func(format string, args ...any) {
			problems = append(problems, name+": "+fmt.Sprintf(format, args...))
		}
		required := !f.omittable
		if request {
			_, required = f.bind["required"]
		}
		if required != slices.Contains(want.required, name) {
			report("required %t in the struct, not so in the schema", required)
		}
		if f.nullable != property.types["null"] {
			report("nullable %t in the struct, %t in the schema", f.nullable, property.types["null"])
		}
		if problem := compareType(f.typ, ref); problem != "" {
			report("%s", problem)
		}
		if request {
			compareRules(f, property, report)
		}
	}
	return problems
}

// compareType returns what is wrong with the type of a property, or "".
func compareType(typ reflect.Type, ref *openapi3.SchemaRef) string {
	got := flatten(ref.Value)
	want := ""
	switch {
	case typ == reflect.TypeFor[time.Time]():
		if got.format != "date-time" {
			return "a time without the format date-time"
		}
		want = "string"
	case typ == reflect.TypeFor[json.RawMessage](), typ.Kind() == reflect.Map:
		want = "object"
	case typ.Kind() == reflect.Struct:
		if !strings.HasSuffix(ref.Ref, "/"+typ.Name()) {
			return fmt.Sprintf("refers to %q, the struct to %s", ref.Ref, typ.Name())
		}
		want = "object"
	case typ.Kind() == reflect.Slice:
		if got.items == nil {
			return "an array without items"
		}
		if problem := compareType(typ.Elem(), got.items); problem != "" {
			return "items: " + problem
		}
		want = "array"
	case typ.Kind() == reflect.String:
		want = "string"
	case typ.Kind() == reflect.Bool:
		want = "boolean"
	case typ.Kind() == reflect.Float64:
		want = "number"
	case typ.Kind() >= reflect.Int && typ.Kind() <= reflect.Uint64:
		want = "integer"
	}
	types := maps.Clone(got.types)
	if typ.Kind() == reflect.Interface && len(types) == 0 {
		return "" // anything
	}
	delete(types, "null")
	if len(types) != 1 || !types[want] {
		return fmt.Sprintf("types %v, want %q", slices.Sorted(maps.Keys(types)), want)
	}
	return ""
}

// compareRules compares what the bind tag says with the schema.
func compareRules(f field, property view, report func(string, ...any)) {
	low, high := property.minimum, property.maximum
	enum := property.enum
	switch f.typ.Kind() {
	case reflect.String:
		low, high = property.minLength, property.maxLength
	case reflect.Slice:
		low, high = property.minItems, property.maxItems
		enum = flatten(property.items.Value).enum
	default:
	}
	for rule, bound := range map[string]string{"min": low, "max": high} {
		if f.bind[rule] != bound {
			report("%s %q in the struct, %q in the schema", rule, f.bind[rule], bound)
		}
	}
	allowed := strings.FieldsFunc(f.bind["enum"], func(r rune) bool { return r == '|' })
	slices.Sort(allowed)
	if f.typ.Kind() != reflect.Slice || f.typ.Elem().Kind() == reflect.String {
		if !slices.Equal(allowed, enum) {
			report("enum %v in the struct, %v in the schema", allowed, enum)
		}
	}
	if _, secret := f.bind["secret"]; secret != property.secret {
		report("secret %t in the struct, %t in the schema", secret, property.secret)
	}
	fallback, stated := f.bind["default"]
	if !stated { // an absent property then has its zero value, which the schema may say
		switch property.fallback {
		case "", `""`, "0", "false", "[]", "{}":
			return
		}
	}
	if got := strings.Trim(property.fallback, `"`); got != fallback {
		report("default %q in the struct, %q in the schema", fallback, got)
	}
}

// view is what a schema says in all, parts joined by allOf included. Numbers and the default are kept as text; "" means
// that the schema does not say.
type view struct {
	types            map[string]bool
	properties       map[string]*openapi3.SchemaRef
	required         []string
	enum             []string
	items            *openapi3.SchemaRef
	minimum          string
	maximum          string
	minLength        string
	maxLength        string
	minItems         string
	maxItems         string
	format, fallback string
	open, secret     bool
}

func flatten(s *openapi3.Schema) view {
	v := view{types: map[string]bool{}, properties: map[string]*openapi3.SchemaRef{}}
	v.add(s)
	slices.Sort(v.enum)
	return v
}

func (v *view) add(s *openapi3.Schema) {
	for _, part := range s.AllOf {
		v.add(part.Value)
	}
	if s.Type != nil {
		for _, name := range s.Type.Slice() {
			v.types[name] = true
		}
	}
	maps.Copy(v.properties, s.Properties)
	v.required = append(v.required, s.Required...)
	for _, value := range s.Enum {
		if text, ok := value.(string); ok {
			v.enum = append(v.enum, text)
		}
	}
	if s.Items != nil {
		v.items = s.Items
	}
	if s.Format != "" {
		v.format = s.Format
	}
	v.bounds(s)
	if s.Default != nil {
		text, _ := json.Marshal(s.Default)
		v.fallback = string(text)
	}
	v.secret = v.secret || s.Extensions["x-secret"] == true
	extra := s.AdditionalProperties
	v.open = v.open || extra.Schema != nil || (extra.Has != nil && *extra.Has)
}

func (v *view) bounds(s *openapi3.Schema) {
	number := func(dst *string, value *float64) {
		if value != nil {
			*dst = strconv.FormatFloat(*value, 'f', -1, 64)
		}
	}
	count := func(dst *string, value *uint64) {
		if value != nil {
			*dst = strconv.FormatUint(*value, 10)
		}
	}
	number(&v.minimum, s.Min)
	number(&v.maximum, s.Max)
	count(&v.maxLength, s.MaxLength)
	count(&v.maxItems, s.MaxItems)
	if s.MinLength > 0 {
		count(&v.minLength, &s.MinLength)
	}
	if s.MinItems > 0 {
		count(&v.minItems, &s.MinItems)
	}
}
