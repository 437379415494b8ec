"""Secrets as people leave them in notes: templates, filled at random when a test runs.

In a template `{alphabet:length}` is a random run, and what is secret stands between « and ». Nothing here is a secret, nor does
it look like one to a scanner. This list and `secret_lookalikes` say what vendors document and people write, whether a rule
finds it or not.
"""

from __future__ import annotations

import base64
import random
import re
import string

_ALPHABETS = {
    "b62": string.ascii_letters + string.digits,
    "b64": string.ascii_letters + string.digits + "+/",
    "url": string.ascii_letters + string.digits + "_-",
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "low": string.ascii_lowercase + string.digits,
    "UP": string.ascii_uppercase + string.digits,
    "abc": string.ascii_lowercase,
    "b32": string.ascii_lowercase + "234567",
    "dig": string.digits,
}
_WORDS = ("harbor", "kestrel", "velvet", "granite", "copper", "meadow", "lantern", "thunder")
_SIGNS = "!@#%^&*?+="

FOUND = r"""
default login svc-reader password «{b62:12}7q» account kestrel
kubeadm join 10.20.0.11:6443 --token «{low:6}.{low:16}» --discovery-token-ca-cert-hash sha256:{hex:64}
mysqldump -ushop -p'«k$T9{b62:8}&x»' --single-transaction shop
psql "host=db.kestrel.dev user=shop password=«npg_{b62:12}» sslmode=require"
I reset the postgres superuser; new pw: «E0{b62:8}%m9» - told Jana on the phone.
Note to self: sudo pw on build-07 = «Saddle.{b62:8}9#»
The vault file opens with the passphrase `«copper lantern drifting beneath oak»`.
chore: note the wifi for the cage (SSID nw-cage, passphrase "«otter-basalt-ferry-{dig:4}»")
Zugangsdaten Testkunde: Benutzername k.brandt, Kennwort «Ufer{dig:2}Boot{dig:2}»
Identifiants de l'hébergeur : utilisateur web0417, mot de passe «K1{b62:8}+»
iDRAC is reachable again, login root, password «Basalt.{b62:8}30!», change it after the maintenance.
I logged in as root with «i{b62:10}#9Q» as the password and the disk was full again.
To log into the printer use admin / «Anker.{b62:6}94+» (the vendor default no longer works).
| host | user | password |\n|------|------|----------|\n| ilo-17 | Administrator | «KN{UP:6}7» |
| service | account sid | auth token |\n|---|---|---|\n| twilio prod | AC{hex:32} | «{hex:32}» |
otpauth://totp/AWS:root@kestrel?secret=«{b32:32}»&issuer=AWS
curl -b 'grafana_session=«{hex:32}»' https://grafana.kestrel.dev/api/admin
Cookie: theme=dark; sessionid=«{low:32}»
gh secret set DEPLOY_PASSWORD --body '«{b62:14}-9x»'
  DEPLOY_PASSWORD:\n    value: '«{b62:16}!9»'
- name: DB_PASSWORD\n  value: "«{b62:16}!9»"
{"name": "DB_PASSWORD", "value": "«{b62:16}!9»"}
variable "db_password" {\n  default = "«{b62:16}9»"\n}
Password for the shared VPN account: «{b62:12}#7»
root password for the NAS: «velvet{b62:6}#42»
pw for the test user: «k7{b62:12}4»
Nutzer admin, Passwort: «4x{b62:10}K»
Das Passwort für den Router lautet «{b62:12}7»
Das Kennwort ist «{b62:12}7Qx»
Le mot de passe est «{b62:12}7»
La contraseña del servidor es «{b62:12}7Qx»
"password": "«{b62:20}»"
az devops login  # PAT: «{b32:52}»
AZURE_DEVOPS_EXT_PAT=«{b32:52}»
curl -u :«{b32:52}» https://dev.azure.com/depot/_apis/projects
GITHUB_PAT=«{hex:40}»
ASANA_PAT=«2/{dig:16}/{dig:16}:{hex:32}»
the firecrawl job uses «fc-{hex:32}»
posthog.com takes «phx_{b62:43}»
resend = Resend("«re_{b62:8}_{b62:24}»")
infisical gave «st.{hex:24}.{hex:32}.{hex:32}»
planetscale gave «pscale_pw_{url:20}=={url:20}»
old grafana key «eyJrIjoi{b64:80}==»
bedrock gave «bedrock-api-key-{b64:60}»
network={\n  ssid="home"\n  psk="«{b62:14}9»"\n}
net use X: //nas/share /user:DEPOT/ada «{b62:11}9»
kinit ada <<< '«{b62:12}9»'
ldapsearch -D cn=admin,dc=depot -w «{b62:13}9» -b dc=depot
rabbitmqctl add_user app «{b62:15}9»
htpasswd -b .htpasswd ada «{b62:11}9»
zip -P «{b62:11}9» out.zip data
AWS_ACCESS_KEY_ID=«AKIA{UP:16}»
aws configure set aws_secret_access_key «{b64:40}»
[default]\naws_access_key_id = AKIA{UP:16}\naws_secret_access_key = «{b64:40}»
aws_session_token = «IQoJb3JpZ2luX2Vj{b64:300}»
"SecretAccessKey": "«{b64:40}»"
export AWS_SECRET_ACCESS_KEY='«{b64:40}»'
key for maps: «AIza{url:35}»
"client_secret": "«GOCSPX-{url:28}»"
gcloud refresh token 1//0«{url:60}»
access_token=«ya29.{url:120}»
AZURE_CLIENT_SECRET=«{b62:3}8Q~{b62:34}»
AccountName=depot;AccountKey=«{b64:86}==»;EndpointSuffix=core.windows.net
Endpoint=sb://depot.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey=«{b64:43}=»
https://depot.blob.core.windows.net/c/f.csv?sv=2023-01-03&sig=«{b62:43}%3D»
HostName=hub.azure-devices.net;DeviceId=d1;SharedAccessKey=«{b64:43}=»
git remote add origin https://«{low:52}»@dev.azure.com/depot/_git/app
cosmos: AccountEndpoint=https://depot.documents.azure.com:443/;AccountKey=«{b64:86}==»;
ocp-apim-subscription-key: «{hex:32}»
OPENAI_API_KEY=«sk-proj-{url:80}»
openai.api_key = "«sk-{b62:48}»"
ANTHROPIC_API_KEY: «sk-ant-api03-{url:93}AA»
claude oauth: «sk-ant-oat01-{url:86}»
HF_TOKEN=«hf_{b62:34}»
huggingface-cli login --token «hf_{b62:34}»
GROQ_API_KEY=«gsk_{b62:52}»
REPLICATE_API_TOKEN=«r8_{b62:37}»
PERPLEXITY_API_KEY=«pplx-{b62:48}»
TOGETHER_API_KEY=«{hex:64}»
MISTRAL_API_KEY=«{b62:32}»
DEEPSEEK_API_KEY=«sk-{hex:32}»
COHERE_API_KEY=«{b62:40}»
XAI_API_KEY=«xai-{b62:80}»
OPENROUTER_API_KEY=«sk-or-v1-{hex:64}»
GEMINI_API_KEY=«AIza{url:35}»
LANGCHAIN_API_KEY=«lsv2_pt_{hex:32}_{hex:10}»
WANDB_API_KEY=«{hex:40}»
wandb login «{hex:40}»
PINECONE_API_KEY=«pcsk_{b62:6}_{b62:60}»
QDRANT_API_KEY="«{url:40}»"
WEAVIATE_API_KEY=«{b62:36}»
voyage key is «pa-{url:43}»
ELEVENLABS_API_KEY=«sk_{hex:48}»
ASSEMBLYAI_API_KEY=«{hex:32}»
DEEPGRAM_API_KEY=«{hex:40}»
TAVILY_API_KEY=«tvly-dev-{b62:32}»
FIRECRAWL_API_KEY=«fc-{hex:32}»
SERPAPI_API_KEY=«{hex:64}»
git clone https://«ghp_{b62:36}»@github.com/depot/app.git
GITHUB_TOKEN: «github_pat_{b62:22}_{b62:59}»
the runner used «ghs_{b62:36}» for that
curl -H "Authorization: token «gho_{b62:36}»" https://api.github.com
GITLAB_TOKEN=«glpat-{url:20}»
url = https://oauth2:«glpat-{url:20}»@gitlab.com/depot/app.git
gitlab-runner register --registration-token «{url:20}»
gitlab trigger «glptt-{hex:40}»
deploy token: «gldt-{url:20}»
BITBUCKET_APP_PASSWORD=«ATBB{b62:32}»
https://x-token-auth:«{url:40}»@bitbucket.org/depot/app.git
ATLASSIAN_API_TOKEN=«ATATT3xFfGF0{url:170}»
JIRA_API_TOKEN=«{b62:24}»
curl -u ada@depot.example.org:«{b62:24}» https://depot.atlassian.net/rest/api/3/myself
CONFLUENCE_PASSWORD=«{pw}»
LINEAR_API_KEY=«lin_api_{b62:40}»
NOTION_TOKEN=«ntn_{b62:46}»
notion secret is «secret_{b62:43}»
AIRTABLE_API_KEY=«pat{b62:14}.{hex:64}»
FIGMA_TOKEN=«figd_{url:40}»
ASANA_TOKEN=1/«{dig:16}:{hex:32}»
TRELLO_API_TOKEN=«{hex:64}»
CLICKUP_TOKEN=«pk_{dig:8}_{UP:32}»
monday_api_token = "«{jwt}»"
SLACK_BOT_TOKEN=«xoxb-{dig:12}-{dig:13}-{b62:24}»
SLACK_APP_TOKEN=«xapp-1-A{UP:10}-{dig:13}-{hex:64}»
slack webhook https://hooks.slack.com/services/T{UP:8}/B{UP:10}/«{b62:24}»
SLACK_SIGNING_SECRET=«{hex:32}»
DISCORD_TOKEN=«MT{b62:24}.G{url:5}.{url:38}»
https://discord.com/api/webhooks/{dig:18}/«{url:68}»
https://api.telegram.org/bot«{dig:10}:AA{url:33}»/sendMessage
TELEGRAM_BOT_TOKEN=«{dig:10}:AA{url:33}»
https://depot.webhook.office.com/webhookb2/«{uuid}@{uuid}/IncomingWebhook/{hex:32}/{uuid}»
https://outlook.office.com/webhook/{uuid}@{uuid}/IncomingWebhook/«{hex:32}»/{uuid}
https://chat.googleapis.com/v1/spaces/AAAA{b62:7}/messages?key=AIza{url:35}&token=«{url:43}»
https://hooks.zapier.com/hooks/catch/{dig:7}/«{low:7}»/?token=«{b62:30}»
MATTERMOST_TOKEN=«{low:26}»
TWILIO_AUTH_TOKEN=«{hex:32}»
Client("AC{hex:32}", "«{hex:32}»") for Twilio auth
twilio api key «SK{hex:32}»
SENDGRID_API_KEY=«SG.{url:22}.{url:43}»
MAILGUN_API_KEY=«key-{hex:32}»
mailgun: «{hex:32}-{hex:8}-{hex:8}» is the api key
MAILCHIMP_API_KEY=«{hex:32}-us12»
POSTMARK_SERVER_TOKEN=«{uuid}»
RESEND_API_KEY=«re_{b62:8}_{b62:24}»
BREVO_API_KEY=«xkeysib-{hex:64}-{b62:16}»
VONAGE_API_SECRET=«{b62:16}»
STRIPE_SECRET_KEY=«sk_live_{b62:99}»
stripe.api_key = "«rk_live_{b62:24}»"
STRIPE_WEBHOOK_SECRET=«whsec_{b62:32}»
SQUARE_ACCESS_TOKEN=«EAAA{url:60}»
PAYPAL_CLIENT_SECRET=«E{url:79}»
BRAINTREE_PRIVATE_KEY=«{hex:32}»
ADYEN_API_KEY=«AQE{b62:90}»
RAZORPAY_KEY_SECRET=«{b62:24}»
SHOPIFY_ACCESS_TOKEN=«shpat_{hex:32}»
shopify shared secret «shpss_{hex:32}»
PLAID_SECRET=«{hex:30}»
COINBASE_API_SECRET=«{b62:32}»
SUPABASE_SERVICE_ROLE_KEY=«{jwt}»
supabase login --token «sbp_{hex:40}»
VERCEL_TOKEN=«{b62:24}»
vercel deploy --token «{b62:24}»
NETLIFY_AUTH_TOKEN=«nfp_{b62:40}»
CLOUDFLARE_API_TOKEN=«{url:40}»
X-Auth-Key: «{hex:37}»
CF_API_KEY=«{hex:37}»
DIGITALOCEAN_ACCESS_TOKEN=«dop_v1_{hex:64}»
LINODE_TOKEN=«{hex:64}»
HCLOUD_TOKEN=«{b62:64}»
VULTR_API_KEY=«{UP:36}»
FLY_API_TOKEN=«fo1_{url:43}»
FLY_API_TOKEN="FlyV1 «fm2_{b64:200}»"
HEROKU_API_KEY=«{uuid}»
RENDER_API_KEY=«rnd_{b62:28}»
RAILWAY_TOKEN=«{uuid}»
SCW_SECRET_KEY=«{uuid}»
ALIBABA_CLOUD_ACCESS_KEY_SECRET=«{b62:30}»
IBMCLOUD_API_KEY=«{url:44}»
OCI_AUTH_TOKEN="«{b62:20}»"
DATABRICKS_TOKEN=«dapi{hex:32}»
SNOWFLAKE_PASSWORD=«{pw}»
NEON_API_KEY=«napi_{low:64}»
PLANETSCALE_TOKEN=«pscale_tkn_{url:43}»
TURSO_AUTH_TOKEN=«{jwt}»
UPSTASH_REDIS_REST_TOKEN=«A{b62:50}=»
DD_API_KEY=«{hex:32}»
DATADOG_APP_KEY: «{hex:40}»
NEW_RELIC_LICENSE_KEY=«{hex:36}NRAL»
NEW_RELIC_API_KEY=«NRAK-{UP:27}»
SENTRY_AUTH_TOKEN=«sntrys_{b64:120}»
SENTRY_DSN=https://{hex:32}:«{hex:32}»@o1.ingest.sentry.io/2
GRAFANA_TOKEN=«glsa_{b62:32}_{hex:8}»
grafana cloud: «glc_{b64:120}»
HONEYCOMB_API_KEY=«hcaik_{low:58}»
ROLLBAR_ACCESS_TOKEN=«{hex:32}»
SPLUNK_HEC_TOKEN=«{uuid}»
Authorization: Splunk «{uuid}»
PAGERDUTY_API_KEY=«u+{b62:18}»
OPSGENIE_API_KEY=«{uuid}»
LOGDNA_INGESTION_KEY=«{hex:32}»
CODECOV_TOKEN=«{uuid}»
SONAR_TOKEN=«sqp_{hex:40}»
SNYK_TOKEN=«{uuid}»
CIRCLE_TOKEN=«{hex:40}»
BUILDKITE_AGENT_TOKEN=«{hex:50}»
TRAVIS_API_TOKEN=«{url:22}»
DRONE_TOKEN=«{b62:32}»
JENKINS_API_TOKEN=«11{hex:32}»
TFE_TOKEN=«{b62:14}.atlasv1.{b62:67}»
VAULT_TOKEN=«hvs.{url:90}»
vault unseal key 1: «{b64:44}»
PULUMI_ACCESS_TOKEN=«pul-{hex:40}»
DOPPLER_TOKEN=«dp.st.prd.{b62:43}»
OP_SERVICE_ACCOUNT_TOKEN=«ops_eyJ{b62:300}»
LAUNCHDARKLY_SDK_KEY=«sdk-{uuid}»
ALGOLIA_ADMIN_KEY=«{hex:32}»
SEGMENT_WRITE_KEY=«{b62:32}»
MAPBOX_SECRET=«sk.{jwtbody}.{url:22}»
CONTENTFUL_MANAGEMENT_TOKEN=«CFPAT-{url:43}»
OKTA_API_TOKEN=«00{url:40}»
AUTH0_CLIENT_SECRET=«{url:64}»
CLERK_SECRET_KEY=«sk_live_{b62:42}»
FIREBASE_SERVER_KEY=«AAAA{b62:7}:APA91b{url:134}»
FACEBOOK_ACCESS_TOKEN=«EAAC{b62:160}»
TWITTER_BEARER_TOKEN=«AAAAAAAAAAAAAAAAAAAAA{b62:80}»
TWITTER_API_SECRET=«{b62:50}»
LINKEDIN_CLIENT_SECRET=«{b62:16}»
SPOTIFY_CLIENT_SECRET=«{hex:32}»
DROPBOX_TOKEN=«sl.{url:130}»
ZOOM_CLIENT_SECRET=«{b62:32}»
HUBSPOT_TOKEN=«pat-na1-{uuid}»
INTERCOM_ACCESS_TOKEN=«dG9r{b64:56}=»
ZENDESK_API_TOKEN=«{b62:40}»
SALESFORCE_TOKEN=«00D{b62:12}!{b62:96}»
//registry.example.com/:_authToken=«npm_{b62:36}»
//npm.pkg.github.com/:_authToken=«ghp_{b62:36}»
_auth="«{basic}»"
[pypi]\nusername = __token__\npassword = «pypi-AgEIcHlwaS5vcmc{url:150}»
twine upload -u __token__ -p «pypi-AgEIcHlwaS5vcmc{url:150}» dist/*
[registry]\ntoken = "«cio{b62:32}»"
GEM_HOST_API_KEY=«rubygems_{hex:48}»
dotnet nuget push -k «oy2{low:43}»
DOCKER_PASSWORD=«dckr_pat_{url:27}»
docker login -u ada -p «{pw}» registry.depot.org
"auths": {"ghcr.io": {"auth": "«{basic}»"}}
machine api.depot.org login ada password «{pw}»
machine api.depot.org\n  login ada\n  password «{b62:20}»
users:\n- name: admin\n  user:\n    client-key-data: «LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVkt{b64:400}»
users:\n- name: ci\n  user:\n    token: «{jwt}»
users:\n- name: ada\n  user:\n    password: «{pw}»
-----BEGIN OPENSSH PRIVATE KEY-----\n«{b64:70}\n{b64:70}»\n-----END OPENSSH PRIVATE KEY-----
-----BEGIN RSA PRIVATE KEY-----\n«{b64:64}\n{b64:64}»\n-----END RSA PRIVATE KEY-----
-----BEGIN EC PRIVATE KEY-----\n«{b64:64}\n{b64:64}»\n-----END EC PRIVATE KEY-----
-----BEGIN ENCRYPTED PRIVATE KEY-----\n«{b64:64}\n{b64:64}»\n-----END ENCRYPTED PRIVATE KEY-----
-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n«{b64:64}\n{b64:64}»\n-----END PGP PRIVATE KEY BLOCK-----
"private_key": "-----BEGIN PRIVATE KEY-----\\n«{b64:64}\\n{b64:64}»\\n-----END PRIVATE KEY-----\\n"
PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n«{b64:64}»\nPrivate-MAC: {hex:64}
age key: «AGE-SECRET-KEY-1{UP:58}»
[Interface]\nPrivateKey = «{b64:43}=»
-----BEGIN OpenVPN Static key V1-----\n«{hex:32}\n{hex:32}\n{hex:32}»\n-----END OpenVPN Static key V1-----
postgres://depot:«{b62:16}»@db.depot.org:5432/app
DATABASE_URL=mysql://root:«{pass}»@10.0.3.7/app
mongodb+srv://ada:«{b62:18}»@cluster0.{low:5}.mongodb.net/app
redis://:«{b62:24}»@cache.depot.org:6379/0
amqps://ada:«{b62:20}»@rabbit.depot.org/vhost
Server=tcp:db.depot.org;Database=app;User Id=sa;Password=«{pw}»;Encrypt=true
Data Source=db;Uid=sa;Pwd=«{pass}»;
jdbc:postgresql://db.depot.org/app?user=ada&password=«{b62:16}»
ldap://cn=admin:«{b62:14}»@ldap.depot.org
smtp://ada%40depot.org:«{b62:16}»@smtp.depot.org:587
ftp://ada:«{pass}»@ftp.depot.org/in
https://ada:«{b62:20}»@nexus.depot.org/repository/pypi/simple
mysql -u root -p«{b62:14}» app
mycli -h db -u app -p '«{b62:14}»'
machine api.heroku.com login ada@acme.io password «{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}»
db.internal:5432:shop:app:«{b62:12}#7»
curl -u «{hex:40}»: https://circleci.com/api/v1.1/me
PGPASSWORD=«{b62:14}» psql -h db.depot.org
sshpass -p '«{pw}»' ssh ada@depot.org
mysqldump --password=«{b62:14}» app
curl -u ada:«{pass}» https://api.depot.org/v1
curl -H "X-Api-Key: «{b62:32}»" https://api.depot.org
curl -H 'Authorization: Bearer «{jwt}»' https://api.depot.org
Authorization: Basic «{basic}»
wget --http-password=«{b62:14}» https://depot.org/f
http POST api.depot.org token==«{hex:40}»
redis-cli -h cache -a «{b62:20}» ping
smbclient //nas/share -U ada%«{b62:12}»
openssl enc -aes-256-cbc -k «{b62:24}» -in a -out b
openssl rsa -passin pass:«{b62:16}» -in key.pem
keytool -storepass «{b62:12}» -list
ansible_become_password: «{pw}»
ansible_ssh_pass=«{b62:12}»
db:\n  user: ada\n  password: «{pw}»
db:\n  user: ada\n  password: "«{pass}»"
{"user": "ada", "password": "«{pw}»"}
{"apiKey": "«{b62:32}»"}
{'secret_key': '«{b62:50}»'}
[smtp]\nuser = ada\npass = «{b62:12}»
SECRET_KEY = '«{b62:50}»'
DJANGO_SECRET_KEY=«django-insecure-{low:50}»
RAILS_MASTER_KEY=«{hex:32}»
secret_key_base: «{hex:128}»
JWT_SECRET=«{b62:48}»
NEXTAUTH_SECRET="«{b64:43}=»"
SESSION_SECRET=«{hex:64}»
ENCRYPTION_KEY=«{hex:64}»
<add key="ApiSecret" value="«{b62:32}»" />
<password>«{pw}»</password>
spring.datasource.password=«{b62:14}»
define('DB_PASSWORD', '«{b62:16}»');
$password = "«{b62:16}»";
const token = "«{b62:40}»";
password := "«{b62:16}»"
conn.login("ada", password="«{pw}»")
CREATE USER ada WITH PASSWORD '«{b62:16}»';
ALTER USER root IDENTIFIED BY '«{b62:16}»';
GRANT ALL ON app.* TO ada IDENTIFIED BY '«{b62:16}»';
echo '«{b62:16}»' | docker login --password-stdin -u ada
echo 'ada:«{b62:14}»' | chpasswd
snmp community string «{b62:14}» (v2 password)
wifi: the passphrase is «{b62:16}»
wpa_passphrase=«{b62:16}»
net user ada «{pw}» /add
The password for the staging database is «{pass}».
The admin password was changed to «{pw}» last week.
Log in as ada with password «{b62:14}».
Log in with ada / «{pass}» as user and password.
Use the password «{pass}» to open the console.
use password: «{pass}»
Password is "«{pass}»", please rotate it.
The root password on the printer is still «{b62:10}»
My pwd is «{pass}»
The passphrase of the key is "«copper {abc:6} lantern {abc:7}»"
Credentials: ada/«{pw}»
creds are ada:«{pass}»
username: ada, password: «{pass}»
user ada pass «{b62:12}»
| staging | ada | password | «{b62:14}» |
The API key is «{b62:32}».
Our api token for the shop is `«{hex:40}»`.
We use the token «{b62:40}» for the importer.
The secret is `«{b62:32}»`; keep it safe.
the client secret («{b62:32}») expires in May
I set API_KEY to «{b62:32}» and it worked.
Das Passwort ist «{pass}».
el token es «{hex:40}»
The PIN of the safe is password-protected: password=«{pass}»
"""


def uuid(chance: random.Random) -> str:
    """Return a random UUID."""
    return "-".join("".join(chance.choices("0123456789abcdef", k=size)) for size in (8, 4, 4, 4, 12))


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _run(alphabet: str, length: int, chance: random.Random) -> str:
    while True:
        found = "".join(chance.choices(_ALPHABETS[alphabet], k=length))
        if length < 8 or alphabet in ("abc", "dig"):
            return found
        if found[0].isalnum() and found[-1].isalnum() and len({one.isdigit() for one in found}) == 2:
            return found


def _piece(name: str, length: int, chance: random.Random) -> str:
    if name == "uuid":
        return uuid(chance)
    if name == "pass":  # as people choose one
        words = chance.sample(_WORDS, 2)
        return f"{words[0].title()}{chance.choice('-_!')}{words[1]}{chance.randrange(10, 9999)}"
    if name == "pw":  # as a generator chooses one
        found = [*_run("b62", 10, chance), *chance.sample(_SIGNS, 2)]
        chance.shuffle(found)
        return "k" + "".join(found) + "9"
    if name == "basic":
        return _encoded(f"ada:{_run('b62', 14, chance)}")
    if name == "jwtbody":
        return _encoded('{"sub":"' + _run("hex", 8, chance) + '","role":"service"}').rstrip("=")
    if name == "jwt":
        head = _encoded('{"alg":"HS256","typ":"JWT"}').rstrip("=")
        return f"{head}.{_piece('jwtbody', 0, chance)}.{_run('url', 43, chance)}"
    return _run(name, length, chance)


def filled(template: str, chance: random.Random) -> tuple[str, list[str]]:
    """Return a template's text with random values in their places, and the secrets in it."""
    text = template.replace(r"\n", "\n").replace("\\\n", r"\n")
    text = re.sub(
        r"\{(b32|b62|b64|url|hex|HEX|low|UP|abc|dig|uuid|pass|pw|basic|jwtbody|jwt)(?::(\d+))?\}",
        lambda hit: _piece(hit[1], int(hit[2] or 0), chance),
        text,
    )
    secrets = re.findall("«(.*?)»", text, re.DOTALL)
    return text.replace("«", "").replace("»", ""), secrets


def templates(text: str) -> list[str]:
    """Return the templates of a list, one a line."""
    return text.strip().splitlines()
