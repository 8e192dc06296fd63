package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

const generated = "Generated from infra/settings by `go run ./infra/generate`; change it there."

// reference is docs/configuration.md.
func reference(schema *jsonschema.Schema) string {
	var out strings.Builder
	out.WriteString("# Configuration\n\n<!-- " + generated + ` -->

A deployment is configured in the ` + "`context`" + ` of cdk.json. Every mistake is told at once, before anything is deployed, with its key, its value and what
would be right. ` + "[configuration.example.jsonc](configuration.example.jsonc) is an example with every key; [configuration.schema.json](configuration.schema.json)" + `
is a JSON schema that editors can check against.

`)
	table(&out, "The stack", "Keys of `context` itself.", "", schema)
	network, _ := schema.Properties.Get("network")
	table(&out, "The network", "Keys of `network`. "+network.Description, "network.", network)
	outposts, _ := schema.Properties.Get("outposts")
	table(&out, "An outpost", "Keys of each element of `outposts`.", "", outposts.Items)
	worker, _ := outposts.Items.Properties.Get("worker")
	table(&out, "The worker", "Keys of `worker` of an outpost. "+worker.Description, "worker.", worker)
	out.WriteString(`## Good to know

- Fargate sells memory with CPU in fixed pairs:
`)
	for _, size := range settings.FargateSizes() {
		out.WriteString("  - " + size + "\n")
	}
	out.WriteString(`- One stack serves eight outposts at most, because a role's inline policies may have 10,240 characters. Deploy a second stack under another ` + "`stackName`" + ` for more.
- A change of an outpost's limits (` + "`maxSessions`, `maxFailures`, `maxSessionHours`, `dispatch`, `networkPolicy`" + `) reaches the functions within a minute of
  the deployment. A change of the machine (` + "`cpu`, `memory`, `image`" + ` and the like) is for new sessions: those that run keep theirs.
- A role of your own (` + "`taskRole`" + `) needs a trust policy for ecs-tasks.amazonaws.com. The stack lets it decrypt connect tokens of its outpost; beyond that it can
  do what you allow it, and with ` + "`worker.passTaskRole`" + ` the session can do the same.
- With ` + "`exec`" + `, tasks that start from then on can be looked into: ` + "`aws ecs execute-command --cluster CLUSTER --task TASK --container worker --interactive --command /bin/sh`" + `
  (the stack's output ` + "`ClusterName`" + ` is the cluster). Whoever may call that is root in the task.
- Every task bears the tags of its task definition: ` + "`devin:outpost`" + `, the stack's and the outpost's. To see costs by outpost, activate ` + "`devin:outpost`" + ` as a
  cost allocation tag in the account's billing settings; AWS takes about a day.
`)
	return out.String()
}

func table(out *strings.Builder, title, text, prefix string, schema *jsonschema.Schema) {
	fmt.Fprintf(out, "## %s\n\n%s\n\n| key | default | meaning |\n| --- | --- | --- |\n", title, text)
	for pair := schema.Properties.Oldest(); pair != nil; pair = pair.Next() {
		p := pair.Value
		standard := "`" + compact(p.Default) + "`"
		switch {
		case required(schema, pair.Key):
			standard = "required"
		case p.Type == "object" && p.Properties != nil && p.Properties.Len() > 0:
			standard = "see below"
		case p.Default == "":
			standard = "–"
		}
		fmt.Fprintf(out, "| `%s%s` | %s | %s%s |\n", prefix, pair.Key, standard, strings.ReplaceAll(p.Description, "|", "\\|"), limits(p))
	}
	out.WriteString("\n")
}

// limits says in words what the schema knows of legal values and the description need not repeat.
func limits(p *jsonschema.Schema) string {
	switch {
	case p.Minimum != "" && p.Maximum != "":
		return fmt.Sprintf(" From %s to %s.", p.Minimum, p.Maximum)
	case len(p.Enum) > 0 && !strings.Contains(p.Description, fmt.Sprintf("`%v`", p.Enum[0])):
		var words []string
		for _, word := range p.Enum {
			words = append(words, fmt.Sprintf("`%v`", word))
		}
		return " One of " + strings.Join(words, ", ") + "."
	}
	return ""
}

func compact(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// example is a cdk.json context with every key, each with its meaning above it.
func example(schema *jsonschema.Schema) string {
	var out strings.Builder
	out.WriteString("// " + generated + "\n// Copy what you want to change into the context of cdk.json, which takes no comments. The values are the defaults.\n")
	object(&out, "", schema)
	out.WriteString("\n")
	return out.String()
}

func object(out *strings.Builder, indent string, schema *jsonschema.Schema) {
	out.WriteString("{\n")
	for pair := schema.Properties.Oldest(); pair != nil; pair = pair.Next() {
		p := pair.Value
		for _, line := range wrap(p.Description, 140-len(indent)) {
			fmt.Fprintf(out, "%s  // %s\n", indent, line)
		}
		fmt.Fprintf(out, "%s  %q: ", indent, pair.Key)
		switch {
		case pair.Key == "outposts":
			out.WriteString("[")
			object(out, indent+"  ", p.Items)
			out.WriteString("]")
		case p.Properties != nil && p.Properties.Len() > 0:
			object(out, indent+"  ", p)
		case pair.Key == "id":
			out.WriteString(`"outpost_env-example"`)
		case pair.Key == "tokenSecret":
			out.WriteString(`"devin-outposts/token"`)
		default:
			out.WriteString(compact(p.Default))
		}
		if pair.Next() != nil {
			out.WriteString(",")
		}
		out.WriteString("\n")
	}
	out.WriteString(indent + "}")
}

func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
