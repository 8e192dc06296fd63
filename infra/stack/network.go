package stack

import (
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
	if wanted.VPCID == "" {
		made := d.newVPC(wanted)
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
	for _, endpoint := range wanted.Endpoints {
		id := jsii.String("Endpoint-" + string(endpoint))
		if endpoint == "s3" {
			vpc.AddGatewayEndpoint(id, &awsec2.GatewayVpcEndpointOptions{Service: awsec2.GatewayVpcEndpointAwsService_S3()})
			continue
		}
		vpc.AddInterfaceEndpoint(id, &awsec2.InterfaceVpcEndpointOptions{
			Service: awsec2.NewInterfaceVpcEndpointAwsService(jsii.String(string(endpoint)), nil, nil, nil),
		})
	}
	if wanted.FlowLogs {
		d.addFlowLogs(vpc)
	}
	return vpc
}
