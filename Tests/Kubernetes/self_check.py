"""Spoils copies of the manifests: a rule that refuses none of them is no rule."""

import shutil

# (file, text, what stands there instead). The text must be there.
SPOILS = [
    ("worker/kustomization.yaml", "  - network-policy.yaml\n", ""),
    ("worker/kustomization.yaml", "  - pod-disruption-budget.yaml", "  - pod-disruption-budgets.yaml"),
    ("worker/kustomization.yaml", "create secret generic fanfare-redis", "create secret generic fanfare-other"),
    ("worker/kustomization.yaml", "  - name: fanfare\n    newName", "  - name: fanfares\n    newName"),
    ("worker/deployment.yaml", "periodSeconds", "periodInSeconds"),
    ("worker/deployment.yaml", "  selector:\n    matchLabels:\n", "  selector:\n    matchLabel:\n"),
    ("worker/deployment.yaml", "path: /readyz", "path: /ready"),
    ("worker/deployment.yaml", "port: probes", "port: metrics"),
    ("worker/deployment.yaml", '"--config"', '"--configuration"'),
    ("worker/deployment.yaml", '["worker"', '["workers"'),
    ("worker/deployment.yaml", "FANFARE_WORKER_ID", "FANFARE_WORKER_NAME"),
    ("worker/deployment.yaml", "runAsNonRoot: true", "runAsNonRoot: false"),
    ("worker/deployment.yaml", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false"),
    ("worker/deployment.yaml", 'drop: ["ALL"]', 'drop: ["NET_RAW"]'),
    ("worker/deployment.yaml", "automountServiceAccountToken: false", "automountServiceAccountToken: true"),
    ("worker/deployment.yaml", "            - name: apns\n", "            - name: apple\n"),
    ("worker/deployment.yaml", "  strategy:\n", "  replicas: 2\n  strategy:\n"),
    ("worker/fanfare.yaml", "drain_timeout:", "drain_time:"),
    ("worker/scaled-object.yaml", "    name: fanfare-worker\n", "    name: fanfare-workers\n"),
    ("worker/scaled-object.yaml", "minReplicaCount", "minReplicas"),
    ("worker/pod-disruption-budget.yaml", "      app.kubernetes.io/component: worker", "      app.kubernetes.io/component: work"),
    ("worker/network-policy.yaml", "port: 9464", "port: 9465"),
    ("api/service.yaml", "targetPort: https", "targetPort: http"),
    ("api/autoscaler.yaml", "autoscaling/v2", "autoscaling/v2beta2"),
    ("dashboard/deployment.yaml", '"--address"', '"--host"'),
    ("example/kustomization.yaml", "  - ../api\n", "  - ../apis\n"),
    ("example/kustomization.yaml", "  - name: fanfare-configuration\n", "  - name: fanfare-settings\n"),
    ("example/kustomization.yaml", "  - name: registry.example/fanfare\n", "  - name: registry.example/fan\n"),
    ("example/worker.yaml", "bootstrap_servers", "bootstrap_server"),
]
# Those that only show in what kustomize builds.
BUILT = [
    ("worker/fanfare.yaml", "port: 9464", "port: 9465"),
    ("worker/fanfare.yaml", "drain_timeout: 20s", "drain_timeout: 2m"),
    ("worker/fanfare.yaml", "/run/secrets/fanfare/apns", "/run/secrets/apns"),
    ("dashboard/deployment.yaml", '"8443"', '"8444"'),
    ("example/worker-size.yaml", "memory: 2600Mi", "memory: [2600]"),
]


def run(kubernetes, scratch, command, check):
    """Returns how many copies there were, and those that are not refused.

    `check` returns the mistakes of a folder, with what `command` builds of it where that is not None.
    """
    survivors = []
    spoils = [(*each, None) for each in SPOILS] + [(*each, command) for each in BUILT if command]
    for number, (file, text, other, builder) in enumerate(spoils):
        copy = scratch / str(number)
        shutil.copytree(kubernetes, copy)
        path = copy / file
        before = path.read_text()
        if text not in before:
            survivors.append(f"{file} has no {text.strip()}")
        path.write_text(before.replace(text, other))
        if not check(copy, builder):
            survivors.append(f"{file}: {text.strip()} → {other.strip()}")
    return len(spoils), survivors
