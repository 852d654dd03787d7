// Checks with Porcupine that each record of a recorded history is a linearizable register with
// compare-and-set: scripts/histories --help. The rules of base tags are those of docs/protocol.md.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// Time limit for one record; a record that needs longer is reported, and fails the check.
const secondsMax = 120

type version struct {
	Zone, Name string
	Tag        int64
	Value      *string
}

type result struct {
	Tag      *int64
	Conflict *version
}

type sent struct {
	Name  string
	Base  interface{}
	Value *string
}

// One line of a history. Records are versions that were read, or versions that were sent.
type line struct {
	History, Attempts           int
	End, More, Atomic           bool
	Operations                  int
	Process, Operation, Outcome string
	Begun                       int64
	Ended                       *int64
	Zone, Name, Token           string
	Since                       *string
	Names                       []string
	Record                      *version
	Records                     json.RawMessage
	Results                     []result
}

type kind int

const (
	save kind = iota
	read
)

// What a client asked of one record.
type input struct {
	kind     kind
	base     int64 // anyBase overwrites any version
	value    string
	deletes  bool
	attempts int
	process  string
}

type answer int

const (
	saved answer = iota
	conflict
	unknown
	shown  // a version
	absent // no record, or a deleted one
)

// What it was told.
type output struct {
	answer  answer
	tag     int64
	value   string
	deleted bool
}

const anyBase, unknownTag = -1, -1

// A record: its tag is 0 before the first save, and unknown after a save that nobody answered. Then
// it is above `after`.
type state struct {
	tag, after int64
	value      string
	deleted    bool
}

func (s state) isAbsent() bool { return s.tag == 0 || s.deleted }

func (s state) hasTag(tag int64) bool {
	return s.tag == tag || s.tag == unknownTag && tag > s.after
}

func (s state) isBase(base int64) bool {
	return base == anyBase || base == 0 && s.isAbsent() || base > 0 && s.hasTag(base)
}

func (s state) shows(out output) bool {
	if out.tag == 0 {
		return s.tag == 0
	}
	return s.hasTag(out.tag) && s.value == out.value && s.deleted == out.deleted
}

func (s state) replaced(in input, tag int64) state {
	after := s.tag
	if s.tag == unknownTag {
		after = s.after
	}
	return state{tag, after, in.value, in.deletes}
}

func step(before, asked, told interface{}) (bool, interface{}) {
	s, in, out := before.(state), asked.(input), told.(output)
	switch out.answer {
	case saved:
		isGreater := out.tag > s.tag && out.tag > s.after
		return s.isBase(in.base) && isGreater, s.replaced(in, out.tag)
	case conflict:
		// The answer to a retry has the record as it is now, whatever it was before.
		isRefused := in.attempts > 1 || !s.isBase(in.base) || s.tag == unknownTag
		return s.shows(out) && isRefused, state{out.tag, 0, s.value, s.deleted}
	case unknown:
		// One that never happened is one that happens after all others.
		if s.isBase(in.base) {
			return true, s.replaced(in, unknownTag)
		}
		return true, s
	case shown:
		return s.shows(out), state{out.tag, 0, s.value, s.deleted}
	default:
		return s.isAbsent(), s
	}
}

func describe(in input, out output) string {
	what := "read"
	if in.kind == save {
		what = fmt.Sprintf("saved %q on %d", in.value, in.base)
		if in.deletes {
			what = fmt.Sprintf("deleted on %d", in.base)
		}
	}
	told := [...]string{"saved with", "conflict with", "unknown", "shown", "absent"}[out.answer]
	return fmt.Sprintf("%s: %s, told: %s tag %d, value %q", in.process, what, told, out.tag, out.value)
}

type place struct{ zone, name string }

// The operations of a history by record.
type history struct {
	operations map[place][]porcupine.Operation
	chains     map[string]*chain
}

// Pages that a client reads one after another; those of a snapshot show the moment of the first.
type chain struct {
	isSnapshot   bool
	begun, ended int64
	shown        map[place]version
}

func (h *history) add(at place, in input, out output, begun int64, ended *int64) {
	end := int64(math.MaxInt64)
	if ended != nil {
		end = *ended
	}
	h.operations[at] = append(h.operations[at], porcupine.Operation{
		Input: in, Call: begun, Output: out, Return: end})
}

func told(kind answer, v *version) output {
	if v == nil {
		return output{answer: absent}
	}
	out := output{answer: kind, tag: v.Tag, deleted: v.Value == nil}
	if v.Value != nil {
		out.value = *v.Value
	}
	return out
}

func (h *history) addLine(l line) error {
	switch l.Operation {
	case "save":
		return h.addSave(l)
	case "read":
		h.add(place{l.Zone, l.Name}, input{kind: read, process: l.Process},
			told(shown, l.Record), l.Begun, l.Ended)
	case "list":
		return h.addList(l)
	case "changes":
		return h.addChanges(l)
	}
	// A push says what was, not what is.
	return nil
}

func (h *history) addSave(l line) error {
	var records []sent
	if err := json.Unmarshal(l.Records, &records); err != nil {
		return err
	}
	if l.Outcome == "refused" {
		return nil
	}
	if l.Outcome != "unknown" && (l.Ended == nil || len(l.Results) != len(records)) {
		return fmt.Errorf("an answer without an end, or without all results")
	}
	for number, record := range records {
		in := input{kind: save, base: anyBase, deletes: record.Value == nil, attempts: l.Attempts,
			process: l.Process}
		if base, isNumber := record.Base.(float64); isNumber {
			in.base = int64(base)
		}
		if record.Value != nil {
			in.value = *record.Value
		}
		out, at := output{answer: unknown}, place{l.Zone, record.Name}
		if l.Outcome != "unknown" {
			got := l.Results[number]
			if got.Tag != nil {
				out = output{answer: saved, tag: *got.Tag}
			} else if got.Conflict != nil {
				out = told(conflict, got.Conflict)
			} else {
				continue // the batch was aborted because of another record
			}
		}
		h.add(at, in, out, l.Begun, l.Ended)
	}
	return nil
}

func (h *history) addList(l line) error {
	var records []version
	if err := json.Unmarshal(l.Records, &records); err != nil {
		return err
	}
	found := map[string]*version{}
	for number := range records {
		found[records[number].Name] = &records[number]
	}
	for _, name := range l.Names {
		h.add(place{l.Zone, name}, input{kind: read, process: l.Process}, told(shown, found[name]),
			l.Begun, l.Ended)
	}
	return nil
}

func (h *history) addChanges(l line) error {
	var records []version
	if err := json.Unmarshal(l.Records, &records); err != nil {
		return err
	}
	if l.Ended == nil {
		return fmt.Errorf("a page without an end")
	}
	if l.Since == nil {
		h.chains[l.Process] = &chain{true, l.Begun, *l.Ended, map[place]version{}}
	}
	c := h.chains[l.Process]
	if c == nil {
		return fmt.Errorf("%s follows no page", l.Process)
	}
	if !c.isSnapshot {
		c.begun, c.ended = l.Begun, *l.Ended
	}
	for number := range records {
		at := place{records[number].Zone, records[number].Name}
		c.shown[at] = records[number]
		h.add(at, input{kind: read, process: l.Process}, told(shown, &records[number]), c.begun,
			&c.ended)
	}
	if c.isSnapshot && !l.More {
		// What a snapshot does not name was not there.
		for at := range h.operations {
			if _, isShown := c.shown[at]; !isShown {
				h.add(at, input{kind: read, process: l.Process}, output{answer: absent}, c.begun,
					&c.ended)
			}
		}
		c.isSnapshot = false
	}
	return nil
}

func readHistory(path string) (*history, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	h := &history{map[place][]porcupine.Operation{}, map[string]*chain{}}
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 1<<20), 1<<28)
	count, isWhole := 0, false
	for number := 1; lines.Scan(); number++ {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("line %d: %v", number, err)
		}
		if l.History != 0 {
			continue
		}
		if l.End {
			isWhole = l.Operations == count
			continue
		}
		count++
		if err := h.addLine(l); err != nil {
			return nil, fmt.Errorf("line %d: %v", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if !isWhole {
		return nil, fmt.Errorf("it has no last line, or not all operations: it was cut off")
	}
	return h, nil
}

// The operation at which the longest order that was found ends.
func explain(operations []porcupine.Operation, info porcupine.LinearizationInfo) string {
	longest := []porcupine.Operation{}
	for _, partial := range info.PartialLinearizationsOperations()[0] {
		if len(partial) > len(longest) {
			longest = partial
		}
	}
	placed := map[porcupine.Operation]bool{}
	for _, operation := range longest {
		placed[operation] = true
	}
	sort.Slice(operations, func(a, b int) bool { return operations[a].Return < operations[b].Return })
	for _, operation := range operations {
		if !placed[operation] {
			in, out := operation.Input.(input), operation.Output.(output)
			return fmt.Sprintf("%d of %d operations can be ordered; then not, begun at %d: %s",
				len(longest), len(operations), operation.Call, describe(in, out))
		}
	}
	return "no order was found"
}

func check(path string) (bool, error) {
	h, err := readHistory(path)
	if err != nil {
		return false, err
	}
	places := []place{}
	for at := range h.operations {
		places = append(places, at)
	}
	sort.Slice(places, func(a, b int) bool {
		return places[a].zone+"/"+places[a].name < places[b].zone+"/"+places[b].name
	})
	model := porcupine.Model{Init: func() interface{} { return state{} }, Step: step}
	violations, total := 0, 0
	for _, at := range places {
		operations := h.operations[at]
		total += len(operations)
		found, info := porcupine.CheckOperationsVerbose(model, operations, secondsMax*time.Second)
		if found == porcupine.Ok {
			continue
		}
		violations++
		words := explain(operations, info)
		if found == porcupine.Unknown {
			words = fmt.Sprintf("no result within %d s", secondsMax)
		}
		fmt.Printf("%s: record %s of zone %s is not linearizable: %s\n", path, at.name, at.zone, words)
	}
	fmt.Printf("%s: %d records, %d operations: %d violations\n", path, len(places), total, violations)
	return violations == 0, nil
}

func main() {
	code := 0
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: histories FILE ...")
		os.Exit(2)
	}
	for _, path := range os.Args[1:] {
		isGood, err := check(path)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: not a history: %v\n", path, err)
			os.Exit(2)
		}
		if !isGood {
			code = 1
		}
	}
	os.Exit(code)
}
