package stack

import (
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/jsii-runtime-go"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

// network is where tasks run: subnets, and one security group without a single ingress rule, since workers only dial out.
type network struct {
	subnets  []*string
	group    *string
	publicIP bool
}

func (d *Deployment) newNetwork() network {
	wanted := d.settings.Network
	n := network{publicIP: wanted.AssignPublicIP}
	vpc := jsii.String(wanted.VPCID)
	var made awsec2.Vpc
	if wanted.VPCID == "" {
		made = d.newVPC(wanted)
		vpc = made.VpcId()
		subnets := made.PublicSubnets()
		if wanted.NAT {
			subnets, n.publicIP = made.PrivateSubnets(), false
		}
		for _, subnet := range *subnets {
			n.subnets = append(n.subnets, subnet.SubnetId())
		}
	} else {
		for _, subnet := range wanted.Subnets {
			n.subnets = append(n.subnets, jsii.String(subnet))
		}
	}
	n.group = awsec2.NewCfnSecurityGroup(d.Stack, jsii.String("TaskSecurityGroup"), &awsec2.CfnSecurityGroupProps{
		GroupDescription: jsii.String("Outposts workers: they dial out, nothing dials in"),
		VpcId:            vpc,
		SecurityGroupEgress: []any{
			awsec2.CfnSecurityGroup_EgressProperty{IpProtocol: jsii.String("-1"), CidrIp: jsii.String("0.0.0.0/0"), Description: jsii.String("Sessions reach what they need")},
		},
	}).AttrGroupId()
	if len(wanted.Endpoints) > 0 {
		d.addEndpoints(made, n, wanted.Endpoints)
	}
	return n
}

// newVPC makes two subnets in different zones, so that one zone without capacity does not stop sessions. Nothing in it costs money while idle, unless the
// user asked for NAT or endpoints.
func (d *Deployment) newVPC(wanted settings.Network) awsec2.Vpc {
	subnets := []*awsec2.SubnetConfiguration{{
		Name: jsii.String("Public"), SubnetType: awsec2.SubnetType_PUBLIC,
		// Tasks ask for their address themselves; nothing else in these subnets gets one by accident.
		MapPublicIpOnLaunch: jsii.Bool(false),
	}}
	nats := 0
	if wanted.NAT {
		nats = 1
		subnets = append(subnets, &awsec2.SubnetConfiguration{Name: jsii.String("Private"), SubnetType: awsec2.SubnetType_PRIVATE_WITH_EGRESS})
	}
	vpc := awsec2.NewVpc(d.Stack, jsii.String("Vpc"), &awsec2.VpcProps{
		IpAddresses:         awsec2.IpAddresses_Cidr(jsii.String(wanted.CIDR)),
		MaxAzs:              jsii.Number(2),
		NatGateways:         jsii.Number(float64(nats)),
		SubnetConfiguration: &subnets,
	})
	if wanted.FlowLogs {
		d.addFlowLogs(vpc)
	} else {
		d.accept(vpc.Node().DefaultChild().(awsec2.CfnVPC), "AwsSolutions-VPC7", "Flow logs are by choice (network.flowLogs): they cost by the gigabyte")
	}
	return vpc
}

// addEndpoints lets tasks reach AWS services without leaving the VPC. Only tasks can reach the endpoints.
func (d *Deployment) addEndpoints(vpc awsec2.Vpc, n network, wanted []settings.Endpoint) {
	group := awsec2.NewCfnSecurityGroup(d.Stack, jsii.String("EndpointSecurityGroup"), &awsec2.CfnSecurityGroupProps{
		GroupDescription: jsii.String("AWS services inside the VPC, for the workers"),
		VpcId:            vpc.VpcId(),
		SecurityGroupIngress: []any{awsec2.CfnSecurityGroup_IngressProperty{
			IpProtocol: jsii.String("tcp"), FromPort: jsii.Number(443), ToPort: jsii.Number(443), SourceSecurityGroupId: n.group, Description: jsii.String("Workers only"),
		}},
	})
	var routes []any
	for _, subnet := range slices.Concat(*vpc.PublicSubnets(), *vpc.PrivateSubnets()) {
		routes = append(routes, subnet.RouteTable().RouteTableId())
	}
	subnets := make([]any, len(n.subnets))
	for i, subnet := range n.subnets {
		subnets[i] = subnet
	}
	for _, endpoint := range wanted {
		name := strings.ReplaceAll(string(endpoint), ".", "")
		props := &awsec2.CfnVPCEndpointProps{
			VpcId: vpc.VpcId(), ServiceName: jsii.String("com.amazonaws." + *d.Region() + "." + string(endpoint)),
			VpcEndpointType: jsii.String("Interface"), SubnetIds: &subnets, SecurityGroupIds: &[]any{group.AttrGroupId()}, PrivateDnsEnabled: jsii.Bool(true),
		}
		if endpoint == "s3" {
			props.VpcEndpointType, props.RouteTableIds = jsii.String("Gateway"), &routes
			props.SubnetIds, props.SecurityGroupIds, props.PrivateDnsEnabled = nil, nil, nil
		}
		awsec2.NewCfnVPCEndpoint(d.Stack, jsii.String("Endpoint"+name), props)
	}
}
