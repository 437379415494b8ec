"""Lines that resemble secrets and are none, as templates of `secret_shapes`."""

CLEAN = r"""
date -u +%Y-%m-%dT%H:%M:%SZ
WINDOWS_PFX_PASSWORD=$env:PFX_PASSWORD
arn:aws:secretsmanager:eu-central-1:417729130056:secret:prod/billing/db-Ab3xQz
RFC 7617 shows Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ== as the example.
Das Kennwort steht im 1Password-Tresor "Betrieb".
token refresh bug bisected to {hex:40}, the parent {hex:40} is good
md5 of the API key list page changed: {hex:32} -> {hex:32}
| option | password | needed |\n|---|---|---|\n| login | required | yes |
- name: DB_PASSWORD\n  valueFrom: {secretKeyRef: {name: db, key: password}}
variable "db_password" {\n  default = ""\n}
the passphrase "must be at least six words" is checked
{"name": "token_type", "value": "bearer"}
Passwort: siehe Tresor
Le mot de passe est dans le coffre.
Das Kennwort ist im Tresor, Regal 12
password manager: 1password
the password store: vault-2
pw: same as for the wiki
PAT=$(cat ~/.pat)
JAVA_PATH=/usr/lib/jvm/java-17-openjdk-amd64
a PAT: 30 days at most
psk: wpa2-personal
fc-list shows fonts
re_match_objects_are_cached_by_pattern
net use Z: //nas/share
ldapsearch -x -W -D cn=admin
zip -r out.zip data
htpasswd -c .htpasswd ada
rabbitmqctl list_users
"password": "string"
bedrock-api-key-rotation runs weekly
AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
OPENAI_API_KEY=your-api-key-here
OPENAI_API_KEY=sk-...
ANTHROPIC_API_KEY=<your key>
ANTHROPIC_API_KEY=${ANTHROPIC_API_KEY}
token: ${{ secrets.GITHUB_TOKEN }}
password: {{ vault_db_password }}
password: !vault |
password: "{{ lookup('env', 'DB_PASSWORD') }}"
DB_PASSWORD=$DB_PASSWORD
DB_PASSWORD="$(pass show db/app)"
password = os.environ["DB_PASSWORD"]
password = os.getenv("DB_PASSWORD", "")
const token = process.env.GITHUB_TOKEN;
api_key = settings.api_key
let secret = config.get("secret").unwrap();
String password = System.getenv("DB_PASSWORD");
token, err := jwt.Parse(tokenString, keyFunc)
password = getpass.getpass("Password: ")
password=password
user:password@host
postgres://user:password@localhost:5432/db
postgres://postgres:postgres@localhost/test
redis://localhost:6379/0
mysql://root@127.0.0.1/app
https://user:pass@example.com/
https://<user>:<token>@host/repo.git
git@github.com:depot/app.git
mongodb://$USER:$PASS@cluster/app
commit {hex:40} fixed it
Reverted in {hex:12}, see {hex:40}.
index {hex:7}..{hex:7} 100644
sha256: {hex:64}
sha256:{hex:64}
sha512-{b64:86}==
"integrity": "sha512-{b64:86}=="
md5 {hex:32}  archive.tar.gz
{hex:64}  engram-1.0.tar.gz
image: python@sha256:{hex:64}
h1:{b64:43}= go.sum
etag: "{hex:32}"
uuid {uuid}
request id: {uuid}
The run {uuid} failed at 10:04.
trace_id={hex:32} span_id={hex:16}
session_id={uuid}
id: 01J{UP:23}
"build": "{hex:40}"
cache-key: v1-{hex:64}
cache_key = "{hex:32}"
primary_key = "order_id"
foreign key (customer_id) references customers
key = "value"
sort_key: created_at
partition_key = "/tenantId"
public_key = "{b64:43}="
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b64:43} ada@depot
ssh-rsa AAAAB3NzaC1yc2E{b64:300} ada@depot
-----BEGIN CERTIFICATE-----\n{b64:64}\n{b64:64}\n-----END CERTIFICATE-----
-----BEGIN PUBLIC KEY-----\n{b64:64}\n-----END PUBLIC KEY-----
-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{b64:64}\n-----END PGP PUBLIC KEY BLOCK-----
A file that starts with -----BEGIN PRIVATE KEY----- is refused.
certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t{b64:200}
pk_live_ keys are public, sk_live_ keys are not
STRIPE_PUBLISHABLE_KEY=pk_live_{b62:24}
STRIPE_KEY=sk_test_xxxxxxxxxxxxxxxxxxxxxxxx
recaptcha_site_key = "6L{url:38}"
gtag id G-{UP:10}
client_id: {dig:12}-{low:32}.apps.googleusercontent.com
AZURE_CLIENT_ID={uuid}
AZURE_TENANT_ID={uuid}
subscription_id: {uuid}
aws_account_id = {dig:12}
arn:aws:iam::{dig:12}:role/deployer
arn:aws:secretsmanager:eu-west-1:{dig:12}:secret:db-password-{b62:6}
vpc-{hex:17} and subnet-{hex:17}
ami-{hex:17}
i-{hex:17} is the instance
The password must have 12 characters, with digits and symbols.
The password policy is NIST-800-63B.
Passwords are hashed with bcrypt at cost 12.
Password is required.
The password is stored in 1Password.
The password was rotated on 2026-04-12.
The password is read from the environment.
The password expires after 90days.
The default password is 8 characters long.
Its password is in the vault under prod/db.
The password for staging is in secrets/staging.yaml.
Ask Ada for the password of the staging database.
Forgot your password? Use the reset link.
password reset took 300ms before the change
We pass token counts of 4096 to the model.
max_tokens = 4096
tokens: 128000
num_tokens=32768
"total_tokens": 18234
token_count: 1,234,567
The tokenizer splits at 512 tokens.
The token bucket refills at 100 tokens/s.
token = tokens[0]
next_page_token = response["nextPageToken"]
nextPageToken: "{b62:40}"
continuation_token={b62:32}
csrf_token = "{b62:32}"
pad_token = "<pad>"
The secret to good tests is isolation.
The key idea is that retries are idempotent.
A secret sauce of ours: cache everything.
Author: Ada Lovelace <ada@example.org>
authors = ["Ada Lovelace"]
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Bearer YOUR_ACCESS_TOKEN
curl -u "$USER:$PASS" https://api.depot.org
curl -u user:password https://example.com
curl -H "X-Api-Key: $API_KEY" https://api.depot.org
docker login -u ada --password-stdin
mysql -u root -p app
mysql -u root -p"$MYSQL_PASSWORD"
ssh -p 2222 ada@depot.org
docker run -p 8080:80 nginx
psql -p 5433 -U ada
mkdir -p build/output/release1
sshpass -f ~/.ssh/pw ssh ada@host
vault kv get -field=password secret/db
aws secretsmanager get-secret-value --secret-id prod/db
gh auth token | docker login ghcr.io --password-stdin
kubectl create secret generic db --from-file=password.txt
kubectl get secret db -o jsonpath='{.data.password}'
secretKeyRef:\n  name: db-credentials\n  key: password
secretName: tls-depot-org-2026
passwordFile: /run/secrets/db_password
password_file = "/etc/app/db.pass"
ssl_key = /etc/ssl/private/app.key
key_file: ~/.ssh/id_ed25519
api_key_env: OPENAI_API_KEY
env_key = "GROQ_API_KEY"
password_hash = "$2b$12${b62:53}"
root:$6${b62:8}${b64:86}:19000:0:99999:7:::
pbkdf2_sha256$600000${b62:22}${b64:43}=
argon2: $argon2id$v=19$m=65536,t=3,p=4${b64:22}${b64:43}
def check_password(password: str) -> bool:
def token_of(folder: str) -> str:
if password != confirm_password:
assert token == "token"
password: str | None = None
password?: string;
private String apiKey;
"password": null
"password": "********"
password: xxxxxxxx
password = "changeme"
password: change-me-please
POSTGRES_PASSWORD: postgres
POSTGRES_PASSWORD: example
api_key: REPLACE_ME
api_key="<API_KEY>"
apiKey: "YOUR_API_KEY"
secret: "..."
token: [redacted: github-token]
token = ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
SECRET_KEY = config("SECRET_KEY")
app.secret_key = os.urandom(24)
JWT_SECRET=$(openssl rand -hex 32)
tokens live for 3600s, refresh tokens for 30d
key: Ctrl+Shift+P
"key": "editor.formatOnSave"
i18n key: settings.password.label
label.password=Password
password.error.length=The password is too short
placeholder="Enter your password"
<input type="password" name="password" id="password1">
data:image/png;base64,iVBORw0KGgo{b64:200}
The base64 of the icon is PHN2ZyB4bWxucz0i{b64:80}
src="https://cdn.depot.org/app.{hex:20}.js"
https://docs.google.com/document/d/{url:44}/edit
https://www.figma.com/file/{b62:22}/Design
https://github.com/depot/app/commit/{hex:40}
https://github.com/depot/app/blob/{hex:40}/src/main.py#L10
https://youtu.be/{url:11}
https://depot.slack.com/archives/C{UP:10}/p{dig:16}
https://sentry.io/organizations/depot/issues/{dig:10}/
https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX
sku {UP:10}, order {dig:12}
IBAN DE{dig:20}
ISBN 978{dig:10}
+49 151 {dig:8}
license: MIT OR Apache-2.0
SPDX-License-Identifier: Apache-2.0
Python 3.12.4, numpy 2.1.0, torch 2.5.1+cu124
wheel engram_lore-1.0.0-cp311-cp311-manylinux_2_28_x86_64.whl
serial C02{UP:9}
MAC 3c:22:fb:{hex:2}:{hex:2}:{hex:2}
2001:0db8:85a3:0000:0000:8a2e:0370:7334
0x{hex:40}
tx 0x{hex:64}
bc1q{low:38}
QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPAdG
The test checks that mask("hunter2hunter2") hides all.
feature flag `use-token-bucket-v2` is on
class PasswordResetTokenGenerator2:
TokenKind::Identifier64Bit
sk-learn is spelled scikit-learn
The branch is task-4711-sk-token-refresh-for-mobile-clients
see tests/auth/test_password_reset_token_2.py
SecretFoundError is raised with exit code 1
The author's key contributions: pass 1 is 40% faster, pass 2 is 2x.
make pass=2 target=all
auth: oauth2, scopes: read:org write:packages
auth_method = "kerberos5"
authentication: SCRAM-SHA-256
"""
