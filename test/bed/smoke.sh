#!/bin/bash
# Shows that a world with everything works, and how long each thing takes:
#
#	bed run --with flux,argo,proxy -- test/bed/smoke.sh
set -euo pipefail
cd "$BED_DIR"

# until_true WHAT COMMAND...: repeats the command until it succeeds, for 2 minutes at most.
until_true() {
	local what=$1 start
	start=$(date +%s%N)
	shift
	until "$@" >/dev/null 2>&1; do
		if (($(date +%s%N) - start > 120 * 10 ** 9)); then
			echo "FAILED: $what" >&2
			exit 1
		fi
		sleep 0.02
	done
	printf '%7d ms  %s\n' $((($(date +%s%N) - start) / 1000000)) "$what"
}

# is WANT COMMAND...: the output of the command is WANT.
is() {
	local want=$1
	shift
	[ "$("$@")" = "$want" ]
}

addresses() {
	kubectl get endpointslices --namespace "$1" --selector kubernetes.io/service-name="$2" \
		--output jsonpath='{range .items[*].endpoints[?(@.conditions.ready==true)]}{.addresses[0]}{"\n"}{end}' | sort | grep --count .
}

# app NAME RUN: two pods and a Service for them. With RUN true they are real PgBouncers.
app() {
	cat <<-YAML
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: $1}
		spec:
		  replicas: 2
		  selector: {matchLabels: {app: $1}}
		  template:
		    metadata: {labels: {app: $1}, annotations: {bed.poolwright.dev/run: "$2"}}
		    spec:
		      terminationGracePeriodSeconds: 2
		      containers:
		        - name: pgbouncer
		          image: any
		          command: [pgbouncer, /etc/pgbouncer/pgbouncer.ini]
		          ports: [{containerPort: 6432}]
		          volumeMounts: [{name: ini, mountPath: /etc/pgbouncer}]
		      volumes: [{name: ini, configMap: {name: $1, optional: true}}]
		---
		apiVersion: v1
		kind: Service
		metadata: {name: $1}
		spec: {selector: {app: $1}, ports: [{port: 6432}]}
	YAML
}

commit() { # REPOSITORY: all of it, pushed
	[ -d "$1/.git" ] || git -C "$1" init --quiet --initial-branch=main
	git -C "$1" add .
	git -C "$1" -c user.name=smoke -c user.email=smoke@example.com commit --quiet --message=change
	git -C "$1" push --quiet "http://127.0.0.1:3000/$1.git" main
}

selector() { kubectl get service app --namespace "$1" --output jsonpath='{.spec.selector}'; }

echo "--- pods, Services, endpoints"
app web false | kubectl apply --filename - >/dev/null
until_true "2 addresses ready" is 2 addresses default web
kubectl annotate "$(kubectl get pods --selector app=web --output name | head -1)" bed.poolwright.dev/ready=false >/dev/null
until_true "1 after one was annotated as not ready" is 1 addresses default web
kubectl rollout restart deployment/web >/dev/null
until_true "a rollout" kubectl rollout status deployment/web --timeout=60s
until_true "2 addresses ready again" is 2 addresses default web

echo "--- real PgBouncers behind a Service"
kubectl create configmap pgb --from-literal=pgbouncer.ini='
[databases]
far = host=127.77.0.1 port=5432 user=u
[pgbouncer]
listen_addr = 0.0.0.0
auth_type = any
admin_users = anyone
unix_socket_dir = /tmp' >/dev/null
app pgb true | kubectl apply --filename - >/dev/null
until_true "2 addresses ready" is 2 addresses default pgb
service=$(kubectl get service pgb --output jsonpath='{.spec.clusterIP}')
until_true "SHOW VERSION through the Service's address" psql "host=$service port=6432 dbname=pgbouncer user=anyone" --command 'show version'
kill -9 "$(pgrep --full '^pgbouncer /etc' | head -1)"
until_true "1 after kill -9 of the other" is 1 addresses default pgb
until_true "2 when it was started again" is 2 addresses default pgb

echo "--- Flux"
mkdir -p flux-app/app
app app false >flux-app/app/all.yaml
commit flux-app
kubectl create namespace team-flux >/dev/null
kubectl apply --filename - >/dev/null <<'YAML'
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: app, namespace: flux-system}
spec: {interval: 2s, url: "http://127.0.0.1:3000/flux-app.git", ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app, namespace: flux-system}
spec: {interval: 10s, path: ./app, prune: true, wait: true, targetNamespace: team-flux, sourceRef: {kind: GitRepository, name: app}}
YAML
until_true "the first commit is live" is 2 addresses team-flux app
sed --in-place 's/spec: {selector: {app: app}/spec: {selector: {app: app, second: commit}/' flux-app/app/all.yaml
commit flux-app
until_true "the second is, with an interval of 2 s" is '{"app":"app","second":"commit"}' selector team-flux
kubectl patch service app --namespace team-flux --type json --patch '[{"op": "remove", "path": "/spec/selector/second"}]' >/dev/null
until_true "a change by hand is undone, with an interval of 10 s" is '{"app":"app","second":"commit"}' selector team-flux

echo "--- Argo CD"
mkdir -p argo-app/app
app app false >argo-app/app/all.yaml
printf 'resources: [all.yaml]\n' >argo-app/app/kustomization.yaml
commit argo-app
kubectl apply --filename - >/dev/null <<'YAML'
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: app, namespace: argocd}
spec:
  project: default
  source: {repoURL: "http://127.0.0.1:3000/argo-app.git", path: app, targetRevision: main}
  destination: {server: "https://kubernetes.default.svc", namespace: team-argo}
  syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [CreateNamespace=true]}
YAML
until_true "the first commit is live" is 2 addresses team-argo app
sed --in-place 's/spec: {selector: {app: app}/spec: {selector: {app: app, second: commit}/' argo-app/app/all.yaml
commit argo-app
until_true "the second is, with an interval of 5 s" is '{"app":"app","second":"commit"}' selector team-argo
kubectl patch service app --namespace team-argo --type json --patch '[{"op": "remove", "path": "/spec/selector/second"}]' >/dev/null
until_true "a change by hand is undone" is '{"app":"app","second":"commit"}' selector team-argo

echo "--- kill -9 and start again"
bed ctl list | while read -r part _; do
	start=$(date +%s%N)
	bed ctl restart "$part"
	printf '%7d ms  %s\n' $((($(date +%s%N) - start) / 1000000)) "$part"
done
sed --in-place 's/second: commit/third: commit/' argo-app/app/all.yaml flux-app/app/all.yaml
commit argo-app
commit flux-app
until_true "Flux goes on" is '{"app":"app","third":"commit"}' selector team-flux
until_true "Argo CD goes on" is '{"app":"app","third":"commit"}' selector team-argo
echo "all is well"
