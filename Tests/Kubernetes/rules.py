"""What must hold of each folder and of each set of resources. Each rule returns mistakes as sentences."""

import re
import subprocess

import kubernetes_validate
import yaml

from manifests import known_settings, load, options_of, seconds, settings_of

KUBERNETES = "1.34"
# Kinds of operators, whose schemas are theirs: their versions and the keys of `spec` that Fanfare uses.
OPERATORS = {
    "ScaledObject": (
        "keda.sh/v1alpha1", {"scaleTargetRef", "minReplicaCount", "maxReplicaCount", "triggers"}),
    "PodMonitor": ("monitoring.coreos.com/v1", {"selector", "podMetricsEndpoints"}),
    "ServiceMonitor": ("monitoring.coreos.com/v1", {"selector", "endpoints"}),
}
PROBES = {"livenessProbe": {"/livez"}, "readinessProbe": {"/readyz", "/startupz"}, "startupProbe": {"/livez"}}
# What a process needs to end after it has stopped its work: to leave Kafka's group, and room.
END_SECONDS = 8


def check_folder(folder, root, binary):
    name, mistakes = folder.path.name, []
    references = folder.references()
    for reference in references:
        target = folder.path / reference
        if not target.exists():
            mistakes.append(f"{name}/kustomization.yaml names {reference}, which does not exist")
        elif target.is_dir() and not (target / "kustomization.yaml").is_file():
            mistakes.append(f"{name}/kustomization.yaml names {reference}, which has no kustomization.yaml")
        elif target.is_file() and folder.path not in target.resolve().parents:
            mistakes.append(f"{name}/kustomization.yaml names {reference}, which kustomize may not read")
    for path in folder.path.rglob("*.yaml"):
        if path.name != "kustomization.yaml" and str(path.relative_to(folder.path)) not in references:
            mistakes.append(f"{name}/kustomization.yaml does not name {path.relative_to(folder.path)}")
    for row in folder.kustomization.get("configMapGenerator", []):
        bases = [each for base in folder.bases for part in base.closure() for each in part.generated()]
        if row.get("behavior") in ("merge", "replace") and row["name"] not in bases:
            mistakes.append(f"{name}: no base makes {row['name']}, which is to be replaced")
        for file in row.get("files", []):
            path = folder.path / file.split("=")[-1]
            if file.split("=")[0] == "fanfare.yaml" and path.is_file():
                mistakes += check_settings(path, root)
    mistakes += check_images(folder)
    outside = [each for part in folder.closure() for each in part.outside_names() + part.generated()]
    if binary and (folder.path / "templates").is_dir():
        done = subprocess.run(
            [binary, "template", "lint", str(folder.path / "templates")], capture_output=True, text=True)
        if done.returncode != 0:
            mistakes.append(f"{name}/templates: {done.stdout.strip()}")
    return mistakes + check_resources(folder.resources, name, root, binary, outside)


def check_images(folder):
    """An image that is renamed is used somewhere: by its first name, or by that of a base."""
    images = [row.get("newName", row["name"]) for base in folder.bases for part in base.closure()
              for row in part.kustomization.get("images", [])]
    images += [container["image"] for each in folder.resources for container in containers(each)]
    return [f"{folder.path.name}: no container has the image {row['name']}"
            for row in folder.kustomization.get("images", []) if row["name"] not in images]


def check_settings(path, root):
    name, known = f"{path.parent.name}/{path.name}", known_settings(root)
    try:
        tree = load(path.read_text())[0]
    except yaml.YAMLError as error:
        return [f"{name}: {error}"]
    return [f"{name}: there is no setting {each}" for each in settings_of(tree) if each not in known]


def check_resources(resources, where, root, binary, outside):
    """What must hold of resources that are applied together.

    `outside` names ConfigMaps and Secrets that others make.
    """
    mistakes = []
    made = {each["metadata"]["name"] for each in resources if each["kind"] in ("ConfigMap", "Secret")}
    for each in resources:
        title = f"{where}: {each['kind']} {each['metadata']['name']}"
        mistakes += [f"{title}: {mistake}" for mistake in check_schema(each)]
    # The other rules rely on the schema.
    if mistakes:
        return mistakes
    for each in resources:
        title = f"{where}: {each['kind']} {each['metadata']['name']}"
        if each["kind"] == "Deployment":
            of = check_deployment(each, resources, root, binary, made | set(outside))
            mistakes += [f"{title}: {mistake}" for mistake in of]
    if any(each["kind"] == "Deployment" for each in resources):
        mistakes += [f"{where}: {each}" for each in check_links(resources)]
    return mistakes


def check_schema(resource):
    kind = resource["kind"]
    if kind in OPERATORS:
        version, keys = OPERATORS[kind]
        strange = set(resource["spec"]) - keys
        return (["it has another apiVersion"] if resource["apiVersion"] != version else []) + [
            f"spec has the unknown key {key}" for key in sorted(strange)]
    try:
        kubernetes_validate.validate(resource, KUBERNETES, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [f"{'.'.join(map(str, error.path))}: {error.message}"]
    except kubernetes_validate.SchemaNotFoundError:
        return [f"Kubernetes {KUBERNETES} has no such kind"]
    return []


def containers(resource):
    pod = resource.get("spec", {}).get("template", {}).get("spec", {})
    return pod.get("containers", []) + pod.get("initContainers", [])


def labels(deployment):
    return deployment["spec"]["template"]["metadata"].get("labels", {})


def selects(selector, deployment):
    return all(labels(deployment).get(key) == value for key, value in selector.items())


def check_deployment(deployment, resources, root, binary, names):
    pod = deployment["spec"]["template"]["spec"]
    mistakes = check_pod(pod)
    if not selects(deployment["spec"]["selector"]["matchLabels"], deployment):
        mistakes.append("it does not select its own pods")
    for row in pod.get("topologySpreadConstraints", []):
        if not selects(row["labelSelector"]["matchLabels"], deployment):
            mistakes.append("it spreads the pods of another")
    mounted = {mount["name"] for each in pod["containers"] for mount in each.get("volumeMounts", [])}
    volumes = {volume["name"] for volume in pod.get("volumes", [])}
    mistakes += [f"the volume {each} is on one side only" for each in sorted(mounted ^ volumes)]
    for volume in pod.get("volumes", []):
        name = volume.get("configMap", {}).get("name") or volume.get("secret", {}).get("secretName")
        if name and name not in names:
            mistakes.append(f"nobody makes {name}, and the comment does not say to")
        data = [each.get("data", {}) for each in resources
                if each["kind"] == "ConfigMap" and each["metadata"]["name"] == name]
        if volume["name"] == "configuration" and data:
            mistakes += check_configuration(load(data[0]["fanfare.yaml"])[0], deployment)
    for container in pod["containers"]:
        mistakes += check_container(container, root, binary)
    return mistakes


def check_pod(pod):
    security = pod.get("securityContext", {})
    mistakes = []
    if security.get("runAsNonRoot") is not True or not security.get("runAsUser"):
        mistakes.append("its pods may run as root")
    if security.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        mistakes.append("its pods have no seccomp profile")
    if pod.get("automountServiceAccountToken") is not False:
        mistakes.append("its pods get a token of the cluster")
    if not pod.get("topologySpreadConstraints"):
        mistakes.append("its pods are not spread")
    if not pod.get("terminationGracePeriodSeconds"):
        mistakes.append("it has no terminationGracePeriodSeconds")
    return mistakes


def check_container(container, root, binary):
    mistakes = []
    security = container.get("securityContext", {})
    if security.get("allowPrivilegeEscalation") is not False or not security.get("readOnlyRootFilesystem"):
        mistakes.append("its container may write or gain rights")
    if security.get("capabilities", {}).get("drop") != ["ALL"]:
        mistakes.append("its container keeps capabilities")
    resources = container.get("resources", {})
    if not {"cpu", "memory"} <= set(resources.get("requests", {})) or "memory" not in resources.get("limits", {}):
        mistakes.append("its container does not say what it needs")
    ports = {port["name"] for port in container.get("ports", [])}
    for key, paths in PROBES.items():
        probe = container.get(key, {}).get("httpGet", {})
        if probe.get("path") not in paths or probe.get("port") not in ports:
            mistakes.append(f"its {key} asks for {probe.get('path')} at {probe.get('port')}")
    verb, *arguments = container["args"]
    options = options_of(verb, root, binary)
    if options is None:
        mistakes.append(f"fanfare {verb} does not exist")
    for option in (each for each in arguments if each.startswith("--")):
        if options is not None and option not in options:
            mistakes.append(f"fanfare {verb} has no option {option}")
    variables = {"FANFARE_" + each.replace(".", "_").upper() for each in known_settings(root)}
    for variable in container.get("env", []):
        if variable["name"].startswith("FANFARE_") and variable["name"] not in variables:
            mistakes.append(f"no setting has the variable {variable['name']}")
    return mistakes


def check_configuration(settings, deployment):
    """Ports, files and times of a configuration against its pods."""
    mistakes = []
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
    if settings["probes"]["port"] != ports.get("probes"):
        mistakes.append("probes.port is not the port of the probes")
    arguments = container["args"]
    port = arguments[arguments.index("--port") + 1] if "--port" in arguments else settings.get("api", {}).get("port")
    if "https" in ports and int(port) != ports["https"]:
        mistakes.append("it does not listen where its Service leads")
    mounts = [mount["mountPath"] for mount in container.get("volumeMounts", [])]
    for path in re.findall(r"'(/[^']+)'", str(settings)):
        if not any(path == mount or path.startswith(mount + "/") for mount in mounts):
            mistakes.append(f"{path} of the configuration is not mounted")
    sleep = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
    drain = seconds(settings.get("lanes", {}).get("drain_timeout", "20s" if arguments[0] == "worker" else "0s"))
    if pod["terminationGracePeriodSeconds"] < sleep + drain + END_SECONDS:
        mistakes.append("its pods are killed before lanes.drain_timeout is over")
    return mistakes


def check_links(resources):
    """What points to pods points to some."""
    mistakes = []
    deployments = [each for each in resources if each["kind"] == "Deployment"]
    targets = {each["metadata"]["name"] for each in deployments}
    for each in resources:
        title, spec = f"{each['kind']} {each['metadata']['name']}", each.get("spec", {})
        selector = {
            "Service": lambda: spec["selector"],
            "PodDisruptionBudget": lambda: spec["selector"]["matchLabels"],
            "NetworkPolicy": lambda: spec["podSelector"]["matchLabels"],
        }.get(each["kind"])
        pods = [one for one in deployments if selector and selects(selector(), one)]
        if selector and len(pods) != 1:
            mistakes.append(f"{title} selects the pods of {len(pods)} Deployments")
        elif selector:
            ports = [port for container in containers(pods[0]) for port in container.get("ports", [])]
            mistakes += check_ports(each, title, ports)
        if "scaleTargetRef" in spec and spec["scaleTargetRef"]["name"] not in targets:
            mistakes.append(f"{title} scales {spec['scaleTargetRef']['name']}, which does not exist")
        scaled = [one for one in deployments if one["metadata"]["name"] == spec.get("scaleTargetRef", {}).get("name")]
        if any("replicas" in one["spec"] for one in scaled):
            mistakes.append(f"{title} and its Deployment both say how many pods there are")
    for deployment in deployments:
        policies = [each for each in resources if each["kind"] == "NetworkPolicy"
                    and selects(each["spec"]["podSelector"]["matchLabels"], deployment)]
        if not policies:
            mistakes.append(f"no NetworkPolicy is for {deployment['metadata']['name']}")
    return mistakes


def check_ports(resource, title, ports):
    numbers = {port["containerPort"] for port in ports}
    known = numbers | {port["name"] for port in ports}
    spec, mistakes = resource["spec"], []
    if resource["kind"] == "Service":
        mistakes += [f"{title} leads to {port['targetPort']}, which no container has"
                     for port in spec["ports"] if port["targetPort"] not in known]
    if resource["kind"] == "NetworkPolicy":
        allowed = {port["port"] for rule in spec.get("ingress", []) for port in rule.get("ports", [])}
        mistakes += [f"{title} lets in {port}, which is no port of the pods, or not all" for port in allowed ^ numbers]
    return mistakes
