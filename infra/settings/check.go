package settings

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Patterns of AWS names; each is checked before AWS would, because CloudFormation reports one mistake a deployment.
var (
	stackName    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,127}$`)
	outpostID    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)
	vpcID        = regexp.MustCompile(`^vpc-[0-9a-f]{8,17}$`)
	subnetID     = regexp.MustCompile(`^subnet-[0-9a-f]{8,17}$`)
	groupID      = regexp.MustCompile(`^sg-[0-9a-f]{8,17}$`)
	secretName   = regexp.MustCompile(`^[A-Za-z0-9/_+=.@-]{1,512}$`)
	secretARN    = regexp.MustCompile(`^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{6}$`)
	keyARN       = regexp.MustCompile(`^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/[A-Za-z0-9-]+$`)
	topicARN     = regexp.MustCompile(`^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]+$`)
	roleARN      = regexp.MustCompile(`^arn:aws[a-z-]*:iam::\d{12}:role/[A-Za-z0-9+=,.@_/-]+$`)
	imageRef     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9./:@_-]{0,511}$`)
	absolutePath = regexp.MustCompile(`^/[^\x00]*$`)
	platform     = regexp.MustCompile(`^(LATEST|1\.([4-9]|[1-9]\d+)\.\d+|([2-9]|[1-9]\d+)\.\d+\.\d+)$`)
	tagText      = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+@-]*$`) // what all services take; some take more
	mailAddress  = regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`)
)

// retentionDays are the periods that CloudWatch Logs offers (PutRetentionPolicy).
var retentionDays = []int{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}

// Endpoints are the services an endpoint can be made for.
var Endpoints = []Endpoint{"s3", "ecr.api", "ecr.dkr", "logs", "kms", "ssmmessages"}

// maxOutposts keeps the functions' roles within the 10,240 characters of inline policy that a role has, and the parameters' names within the functions'
// environment (4 KB in all), however long the names are.
const maxOutposts = 8

// OutpostTag is the key of the tag that bears an outpost's id, on its task definition and on each of its tasks.
const OutpostTag = "devin:outpost"

const maxTags = 20

func oneOf[T ~string](problems *Problems, key string, value T, legal ...T) {
	if !slices.Contains(legal, value) {
		problems.add("%s: %q is not one of %s", key, value, quoted(legal))
	}
}

func within(problems *Problems, key string, value, low, high int) {
	if value < low || value > high {
		problems.add("%s: %d is not from %d to %d", key, value, low, high)
	}
}

func matches(problems *Problems, key, value string, pattern *regexp.Regexp, wanted string) {
	if value != "" && !pattern.MatchString(value) {
		problems.add("%s: %q is not %s", key, value, wanted)
	}
}

func address(problems *Problems, key, value string, schemes ...string) {
	if value == "" {
		return
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) || u.User != nil {
		problems.add("%s: %q is not a URL that starts with %s:// and holds no password", key, value, strings.Join(schemes, ":// or "))
	}
}

func quoted[T ~string](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprintf("%q", v)
	}
	return strings.Join(words, ", ")
}

func (s *Settings) check(problems *Problems) {
	if !stackName.MatchString(s.StackName) {
		problems.add("stackName: %q is not a stack name: a letter, then letters, digits and hyphens, at most 128 in all", s.StackName)
	}
	oneOf(problems, "functionArchitecture", s.FunctionArchitecture, ARM64, X64)
	address(problems, "apiUrl", s.APIURL, "https")
	if s.APIURL == "" {
		problems.add("apiUrl: is empty; leave the key out for Devin's own address")
	}
	oneOf(problems, "alarms", s.Alarms, NoAlarms, EssentialAlarms, AllAlarms)
	matches(problems, "alarmEmail", s.AlarmEmail, mailAddress, "a mail address")
	matches(problems, "alarmTopic", s.AlarmTopic, topicARN, "the ARN of an SNS topic")
	if s.AlarmEmail != "" && s.AlarmTopic != "" {
		problems.add("alarmEmail: %q cannot be subscribed to alarmTopic %q, which is yours; subscribe it there and leave one of the keys out", s.AlarmEmail, s.AlarmTopic)
	}
	if s.Alarms == NoAlarms && s.AlarmEmail+s.AlarmTopic != "" {
		problems.add("alarms: %q sends nothing to alarmEmail or alarmTopic; say \"essential\" or \"all\", or leave the target out", s.Alarms)
	}
	if !slices.Contains(retentionDays, s.LogRetentionDays) {
		problems.add("logRetentionDays: %d is not one of CloudWatch's periods: %s", s.LogRetentionDays, strings.Trim(fmt.Sprint(retentionDays), "[]"))
	}
	oneOf(problems, "removalPolicy", s.RemovalPolicy, Destroy, Retain)
	checkTags(problems, "tags", s.Tags)
	s.Network.check(problems)

	if len(s.Outposts) == 0 {
		problems.add("outposts: is empty; name at least one outpost with its id and tokenSecret")
	}
	if len(s.Outposts) > maxOutposts {
		problems.add("outposts: %d are too many for one stack; at most %d, then deploy a second stack under another stackName", len(s.Outposts), maxOutposts)
	}
	first := map[string]int{}
	for i := range s.Outposts {
		key, o := fmt.Sprintf("outposts[%d]", i), &s.Outposts[i]
		if before, doubled := first[o.ID]; doubled && o.ID != "" {
			problems.add("%s.id: %q stands in outposts[%d] already; name each outpost once", key, o.ID, before)
		} else {
			first[o.ID] = i
		}
		o.check(problems, key)
	}
}

func (n *Network) check(problems *Problems) {
	matches(problems, "network.vpcId", n.VPCID, vpcID, "the id of a VPC (vpc-…)")
	for i, subnet := range n.Subnets {
		if !subnetID.MatchString(subnet) {
			problems.add("network.subnets[%d]: %q is not the id of a subnet (subnet-…)", i, subnet)
		}
	}
	for i, endpoint := range n.Endpoints {
		oneOf(problems, fmt.Sprintf("network.endpoints[%d]", i), endpoint, Endpoints...)
	}
	if prefix, err := netip.ParsePrefix(n.CIDR); err != nil || !prefix.Addr().Is4() || prefix.Bits() < 16 || prefix.Bits() > 24 || prefix != prefix.Masked() {
		problems.add("network.cidr: %q is not an IPv4 range from /16 to /24, such as \"10.0.0.0/16\"", n.CIDR)
	}
	if n.VPCID == "" {
		if len(n.Subnets) > 0 {
			problems.add("network.subnets: %s belong to a VPC of yours; name it in network.vpcId", quoted(n.Subnets))
		}
		if !n.AssignPublicIP && !n.NAT {
			problems.add("network.assignPublicIp: false leaves tasks in public subnets without a way out; say network.nat: true too, or leave it true")
		}
		return
	}
	if len(n.Subnets) == 0 {
		problems.add("network.subnets: is empty; name the subnets of %s that tasks are to run in", n.VPCID)
	}
	if n.NAT || n.FlowLogs || len(n.Endpoints) > 0 {
		problems.add("network.nat, network.flowLogs, network.endpoints: are only for a VPC that the stack makes; set them up in %s yourself, and leave them out here", n.VPCID)
	}
}

func (o *Outpost) check(problems *Problems, key string) {
	if !outpostID.MatchString(o.ID) {
		problems.add("%s.id: %q is not an outpost's id, such as \"outpost_env-1a2b3c\"", key, o.ID)
	}
	switch {
	case o.TokenSecret == "":
		problems.add("%s.tokenSecret: is empty; give the name or ARN of the secret that holds the service user's token", key)
	case strings.HasPrefix(o.TokenSecret, "cog_"):
		problems.add("%s.tokenSecret: is the token itself; put that into Secrets Manager and give the secret's name here. Treat this token as leaked", key)
	case strings.HasPrefix(o.TokenSecret, "arn:"):
		matches(problems, key+".tokenSecret", o.TokenSecret, secretARN, "the full ARN of a secret, with the six characters that Secrets Manager adds")
	default:
		matches(problems, key+".tokenSecret", o.TokenSecret, secretName, "the name of a secret: letters, digits and /_+=.@-")
	}
	matches(problems, key+".tokenSecretKey", o.TokenSecretKey, keyARN, "the ARN of a KMS key")

	within(problems, key+".maxSessions", o.MaxSessions, 0, 1000)
	oneOf(problems, key+".dispatch", o.Dispatch, Watch, Poll)
	within(problems, key+".maxFailures", o.MaxFailures, 1, 10)
	within(problems, key+".maxSessionHours", o.MaxSessionHours, 1, 336)
	oneOf(problems, key+".networkPolicy", o.NetworkPolicy, Refuse, Ignore)

	if len(o.Capacity) == 0 {
		problems.add("%s.capacity: is empty; name \"fargate\", \"fargate-spot\" or both, in the order they are to be tried", key)
	}
	for i, capacity := range o.Capacity {
		oneOf(problems, fmt.Sprintf("%s.capacity[%d]", key, i), capacity, Fargate, FargateSpot)
		if slices.Contains(o.Capacity[:i], capacity) {
			problems.add("%s.capacity[%d]: %q stands in the list already", key, i, capacity)
		}
	}
	oneOf(problems, key+".architecture", o.Architecture, X64, ARM64)
	checkFargateSize(problems, key, o.CPU, o.Memory)
	within(problems, key+".ephemeralDiskGiB", o.EphemeralDiskGiB, 20, 200)
	if !platform.MatchString(o.PlatformVersion) {
		problems.add("%s.platformVersion: %q is not LATEST or a number from 1.4.0", key, o.PlatformVersion)
	}
	if o.SharedMemoryMiB < 0 || o.SharedMemoryMiB > o.Memory/2 {
		problems.add("%s.sharedMemoryMiB: %d is not from 0 to half of the task's memory (%d)", key, o.SharedMemoryMiB, o.Memory/2)
	}

	matches(problems, key+".image", o.Image, imageRef, "an image reference, such as \"123456789012.dkr.ecr.eu-west-1.amazonaws.com/worker:1\"")
	matches(problems, key+".baseImage", o.BaseImage, imageRef, "an image reference")
	if o.Image == "" && o.BaseImage == "" {
		problems.add("%s.baseImage: is empty, and so is image; give one of them or leave both out", key)
	}
	if o.Image != "" && o.BaseImage != OutpostDefaults().BaseImage {
		problems.add("%s.baseImage: %q is not used, since image %q is complete; leave one of them out", key, o.BaseImage, o.Image)
	}

	matches(problems, key+".taskRole", o.TaskRole, roleARN, "the ARN of a role")
	for i, group := range o.SecurityGroups {
		if !groupID.MatchString(group) {
			problems.add("%s.securityGroups[%d]: %q is not the id of a security group (sg-…)", key, i, group)
		}
	}
	if len(o.SecurityGroups) > 4 {
		problems.add("%s.securityGroups: %d are too many; a task has five at most, and one is the stack's", key, len(o.SecurityGroups))
	}
	oneOf(problems, key+".worker.mode", o.Worker.Mode, Auto, Remote, CLI)
	address(problems, key+".worker.staticUrl", o.Worker.StaticURL, "https")
	address(problems, key+".worker.httpsProxy", o.Worker.HTTPSProxy, "http", "https")
	if o.Worker.PassTaskRole && o.TaskRole == "" {
		problems.add("%s.worker.passTaskRole: true gives the session a role that may do nothing; name a taskRole of yours, or leave it out", key)
	}
	for name, path := range map[string]string{"workdir": o.Worker.Workdir, "setup": o.Worker.Setup, "chromePath": o.Worker.ChromePath, "sslCertFile": o.Worker.SSLCertFile} {
		matches(problems, key+".worker."+name, path, absolutePath, "a path that starts with /")
	}
	checkTags(problems, key+".tags", o.Tags)
}

func checkTags(problems *Problems, key string, tags map[string]string) {
	for name, value := range tags {
		switch {
		case name == "" || utf8.RuneCountInString(name) > 128 || utf8.RuneCountInString(value) > 256:
			problems.add("%s: %q = %q is not a tag: 1 to 128 characters for the key, at most 256 for the value", key, name, value)
		case !tagText.MatchString(name + value):
			problems.add("%s: %q = %q is not a tag for every service: only letters, digits, spaces and _.:/=+@- are", key, name, value)
		case name == OutpostTag:
			problems.add("%s: %q is the stack's own, by which tasks' costs are told apart; leave it out", key, name)
		case strings.HasPrefix(strings.ToLower(name), "aws:"):
			problems.add("%s: %q begins with aws:, which AWS keeps for itself", key, name)
		}
	}
	if len(tags) > maxTags {
		problems.add("%s: %d are too many; at most %d, since a task bears 50: the stack's, its outpost's, and AWS's own", key, len(tags), maxTags)
	}
}
