package stack

import (
	"slices"
	"strings"
)

// secret is an account token's secret, made by the user and only read by the functions.
type secret struct {
	arn string // with the six characters Secrets Manager adds as wildcards, when only the name is known
	key string // KMS key, if it is the user's own
}

func (d *Deployment) importTokens() []secret {
	var tokens []secret
	for _, outpost := range d.settings.Outposts {
		token := secret{arn: outpost.TokenSecret, key: outpost.TokenSecretKey}
		if !strings.HasPrefix(token.arn, "arn:") {
			token.arn = d.arn("secretsmanager", "secret:"+outpost.TokenSecret+"-??????")
		}
		if !slices.Contains(tokens, token) {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// readTokens allows reading the tokens, and decrypting them where the key is the user's own, but only through Secrets Manager.
func (d *Deployment) readTokens() []statement {
	var secrets, keys []string
	for _, token := range d.tokens {
		if !slices.Contains(secrets, token.arn) {
			secrets = append(secrets, token.arn)
		}
		if token.key != "" && !slices.Contains(keys, token.key) {
			keys = append(keys, token.key)
		}
	}
	statements := []statement{allow("ReadAccountTokens", []string{"secretsmanager:GetSecretValue"}, secrets, nil)}
	if len(keys) > 0 {
		statements = append(statements, allow("DecryptAccountTokens", []string{"kms:Decrypt"}, keys,
			conditions{"StringEquals": {"kms:ViaService": "secretsmanager." + *d.Region() + "." + *d.UrlSuffix()}}))
	}
	return statements
}
