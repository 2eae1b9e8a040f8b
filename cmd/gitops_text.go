package cmd

// argoText is what Argo CD needs. The Application is whole, so that an API server takes it; what counts is marked.
const argoText = `# Argo CD and cluster {{.Cluster}}: {{.Command}}
#
# What is marked with (1) to (4) belongs in the Application that applies the cluster's directory; the rest is an
# example. Without (1) to (3) Argo CD puts every failover back that Git does not say yet, and poolwright has to move
# the Services again, each time.
#
# Never on this Application or these Services: the sync options Replace=true and Force=true, which overwrite or
# recreate the Services, and the compare option IncludeMutationWebhook=true, which shows a difference for ever.
# RespectIgnoreDifferences=true is not needed: (3) keeps unrelated commits off the Services, and once poolwright has
# handed them back no field is ignored any more.
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: {{q .Owner}}
  namespace: {{q .OwnerNamespace}}
spec:
  project: default
{{- if .Repository}}
  source:
    repoURL: {{q .Repository}}
    targetRevision: {{q .Branch}}
    path: {{q .Path}}
{{- else}}
  # source: yours
{{- end}}
  destination:
    server: https://kubernetes.default.svc
    namespace: {{q .Namespace}}
  ignoreDifferences: # (1) exactly the role Services, and only what poolwright owns while it is ahead of Git
{{- range .Services}}
    - group: ""
      kind: Service
      namespace: {{q $.Namespace}}
      name: {{q .}}
      managedFieldsManagers:
        - {{q $.Manager}}
{{- end}}
  syncPolicy:
    automated:
      prune: true
      selfHeal: true
    retry: # (4) a newer commit takes the place of one that fails; Argo CD 3.2 and later
      limit: 5
      refresh: true
    syncOptions:
      - ServerSideApply=true # (2) ownership of fields that can be handed back
      - ApplyOutOfSyncOnly=true # (3) commits that do not change the Services do not touch them
# Instead of (1), once for all Applications, in ConfigMap argocd-cm:
#   data:
#     resource.customizations.ignoreDifferences.all: |
#       managedFieldsManagers:
#         - {{.Manager}}
`

// fluxText is what Flux would best have. It needs nothing.
const fluxText = `# Flux and cluster {{.Cluster}}: {{.Command}}
#
# Flux needs nothing. While poolwright is ahead of Git it marks the live Services with
#   kustomize.toolkit.fluxcd.io/reconcile: disabled
# which kustomize-controller honours, and takes the mark off again when Git's commit has been applied. Do not use
# spec.ignore on /spec/selector: Git's selectors would never be applied again.
#
# What is marked below is recommended, in the Kustomization that applies the cluster's directory; the rest is an example.
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {{q .Owner}}
  namespace: {{q .OwnerNamespace}}
spec:
  interval: 10m
  retryInterval: 30s # a failed apply is tried again soon, and not after the interval
  prune: true # overlays of instances that are gone go; the role Services are protected by an annotation
  force: false # force recreates what cannot be changed, and with it what poolwright wrote on it
  wait: false # else one unhealthy pooler, which is what a failover brings, keeps later commits waiting
  path: {{if .Path}}{{q (print "./" .Path)}}{{else}}./clusters/{{.Cluster}} # yours{{end}}
  sourceRef:
    kind: GitRepository
    name: flux-system # yours
`

// rightsText is the least that poolwright can do with.
const rightsText = `---
# What poolwright may do in the cluster's namespace: nothing but this.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{q (print "poolwright-" .Cluster)}}
  namespace: {{q .Namespace}}
rules:
  - apiGroups: [""]
    resources: [services]
    resourceNames: {{list .Services}}
    verbs: [get, list, watch, patch]
  - apiGroups: [""]
    resources: [pods]
    verbs: [list, watch]
  - apiGroups: [""]
    resources: [configmaps]
    resourceNames: [{{q .Topology}}]
    verbs: [get, list, watch]
  - apiGroups: [""]
    resources: [configmaps]
    resourceNames: [{{q .Control}}]
    verbs: [get, list, watch, update, patch]
  - apiGroups: [""] # a name cannot be asked for in a create
    resources: [configmaps]
    verbs: [create]
{{- if eq .Evict "console" "deletePods"}}
  - apiGroups: [discovery.k8s.io] # may be left out: then time alone tells that the nodes have followed a Service
    resources: [endpointslices]
    verbs: [list]
  - apiGroups: [""] # {{if eq .Evict "console"}}may be left out: then a pod whose console gives no answer keeps its clients{{else}}failover.evict: deletePods{{end}}
    resources: [pods]
    verbs: [delete]
{{- end}}
{{- if .Users}}
  - apiGroups: [""] # may be left out: then a rotated userlist.txt reaches no pooler before it is restarted. Only metadata is read
    resources: [secrets]
    resourceNames: [{{q .Users}}]
    verbs: [list, watch]
{{- end}}
  - apiGroups: [""] # may be left out: then reverts and the like are told in the log alone
    resources: [events]
    verbs: [create, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{q (print "poolwright-" .Cluster)}}
  namespace: {{q .Namespace}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{q (print "poolwright-" .Cluster)}}
subjects:
  - kind: ServiceAccount
    name: {{q .Account}}
    namespace: {{q .AccountNamespace}}
---
# In poolwright's own namespace: the Lease by which replicas agree on the one that acts.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{q (print .Lease "-lease")}}
  namespace: {{q .AccountNamespace}}
rules:
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [{{q .Lease}}]
    verbs: [get, update]
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{q (print .Lease "-lease")}}
  namespace: {{q .AccountNamespace}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{q (print .Lease "-lease")}}
subjects:
  - kind: ServiceAccount
    name: {{q .Account}}
    namespace: {{q .AccountNamespace}}
`

// argoNudge and fluxNudge are rights that only save time.
const argoNudge = `
# Not needed; it saves the time until Argo CD polls. poolwright asks for a refresh of the Application after a commit:
# ---
# apiVersion: rbac.authorization.k8s.io/v1
# kind: Role
# metadata:
#   name: {{q (print "poolwright-nudge-" .Cluster)}}
#   namespace: {{q .OwnerNamespace}}
# rules:
#   - apiGroups: [argoproj.io]
#     resources: [applications]
#     resourceNames: [{{q .Owner}}]
#     verbs: [get, patch]
` + nudgeBinding

const fluxNudge = `
# Not needed; it saves the time until Flux polls. poolwright asks for a reconciliation after a commit:
# ---
# apiVersion: rbac.authorization.k8s.io/v1
# kind: Role
# metadata:
#   name: {{q (print "poolwright-nudge-" .Cluster)}}
#   namespace: {{q .OwnerNamespace}}
# rules:
#   - apiGroups: [kustomize.toolkit.fluxcd.io]
#     resources: [kustomizations]
#     resourceNames: [{{q .Owner}}]
#     verbs: [get, patch]
#   - apiGroups: [source.toolkit.fluxcd.io]
#     resources: [gitrepositories]
#     resourceNames: [flux-system]
#     verbs: [get, patch]
` + nudgeBinding

const nudgeBinding = `# ---
# apiVersion: rbac.authorization.k8s.io/v1
# kind: RoleBinding
# metadata:
#   name: {{q (print "poolwright-nudge-" .Cluster)}}
#   namespace: {{q .OwnerNamespace}}
# roleRef:
#   apiGroup: rbac.authorization.k8s.io
#   kind: Role
#   name: {{q (print "poolwright-nudge-" .Cluster)}}
# subjects:
#   - kind: ServiceAccount
#     name: {{q .Account}}
#     namespace: {{q .AccountNamespace}}
`
