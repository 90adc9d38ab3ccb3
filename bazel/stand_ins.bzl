"""Stand-ins for the repositories that an old Bazel would otherwise download.

Only WORKSPACE loads this file, so only a Bazel without Bzlmod runs it; newer ones take
the real rules_python from MODULE.bazel.
"""

def _written_repository_implementation(context):
    context.file("WORKSPACE", "workspace(name = \"%s\")\n" % context.name)
    for path, text in context.attr.files.items():
        context.file(path, text, executable = False)

_written_repository = repository_rule(
    implementation = _written_repository_implementation,
    attrs = {"files": attr.string_dict()},
)

def _native_rules(name, package, rules):
    _written_repository(
        name = name,
        files = {
            package + "/BUILD": "",
            package + "/defs.bzl": "".join([
                "{0} = native.{0}\n".format(rule)
                for rule in rules
            ]),
        },
    )

def stand_in_repositories():
    """Declares what `bazel test` of a py_test loads."""
    _native_rules("rules_python", "python", ["py_binary", "py_library", "py_test"])

    # Debian's build of 4.2 calls its version "". Bazel 5 and later carry the rest.
    version = native.bazel_version
    if version and int(version.split(".")[0]) >= 5:
        return

    # Bazel's own @bazel_tools loads these two while it resolves toolchains.
    _native_rules(
        "rules_cc",
        "cc",
        ["cc_binary", "cc_library", "cc_test", "cc_toolchain", "cc_toolchain_suite"],
    )
    _native_rules("rules_java", "java", ["java_import", "java_runtime", "java_toolchain"])

    # Every test rule depends on this label; only `bazel coverage` would run it.
    _written_repository(
        name = "remote_coverage_tools",
        files = {
            "BUILD": """
filegroup(
    name = "coverage_report_generator",
    srcs = ["none.sh"],
    visibility = ["//visibility:public"],
)
""",
            "none.sh": "#!/bin/sh\nexit 1\n",
        },
    )
