#!/bin/sh
# Builds the container image of cardvault from a release archive and from packages of Debian. It needs Linux, root,
# buildah, mmdebstrap and binutils. No command runs inside the image while it is built.
#
#     deploy/container/build.sh cardvault-VERSION-linux-x64.tgz [NAME]
#
# NAME defaults to localhost/cardvault:VERSION. Verify the signature of the archive first. Variables:
#
#     APT_SOURCES        the sources of Debian, a file in one of apt's formats; the machine's own by default. Name those of a
#                        snapshot to build the same image again later
#     SOURCE_DATE_EPOCH  the time of the image, in seconds since 1970; that of the release by default
set -eu

archive=${1:?usage: build.sh RELEASE.tgz [NAME]}
sources=${APT_SOURCES:-}
if [ -z "$sources" ]; then
  for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
    if [ -s "$file" ]; then sources=$file; break; fi
  done
fi
[ -n "$sources" ] || { echo 'no sources of Debian: set APT_SOURCES' >&2; exit 1; }

work=$(mktemp -d)
container=
finish() {
  [ -z "$container" ] || buildah rm "$container" > /dev/null
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

# Node needs the libraries of C and C++. prlimit forbids core dumps without a shell.
packages=base-files,libc6,libgcc-s1,libstdc++6,libsmartcols1,util-linux
mmdebstrap --quiet --mode=root --variant=extract --skip=essential/unlink,cleanup/apt --include="$packages" '' "$work/debian" "$sources"

image=$work/image
mkdir -p "$image/opt" "$image/usr/bin" "$image/etc" "$image/tmp" "$image/run" "$image/proc" "$image/sys" "$image/dev" \
  "$image/var/lib/cardvault" "$image/var/lib/dpkg/status.d"

# From each package only what runs here, its license, and what scanners of vulnerabilities read.
cp "$work/debian/usr/bin/prlimit" "$image/usr/bin/"
cp "$work/debian/etc/debian_version" "$image/etc/"
mkdir -p "$image/usr/lib"
cp "$work/debian/usr/lib/os-release" "$image/usr/lib/"
ln -s ../usr/lib/os-release "$image/etc/os-release"
mkdir "$work/libraries"
for library in libc.so.6 libdl.so.2 libm.so.6 libpthread.so.0 libresolv.so.2 libgcc_s.so.1 libstdc++.so.6 libsmartcols.so.1; do
  found=$(find "$work/debian/lib" "$work/debian/usr/lib" -name "$library" | head -n 1)
  [ -n "$found" ] || { echo "no $library in the packages" >&2; exit 1; }
  folder=$image/${found#"$work/debian/"}
  mkdir -p "${folder%/*}"
  cp -L "$found" "$folder"
done
for loader in "$work"/debian/lib64/ld-linux-*.so.* "$work"/debian/lib/ld-linux-*.so.*; do
  [ -e "$loader" ] || continue
  folder=${loader#"$work/debian/"}
  mkdir -p "$image/${folder%/*}"
  cp -L "$loader" "$image/$folder"
done
for package in $(echo "$packages" | tr , ' '); do
  mkdir -p "$image/usr/share/doc/$package"
  cp -L "$work/debian/usr/share/doc/$package/copyright" "$image/usr/share/doc/$package/copyright"
done
for file in "$work"/debian/var/cache/apt/archives/*.deb; do
  name=$(dpkg-deb --field "$file" Package)
  case ,$packages, in
    *,"$name",*) { dpkg-deb --field "$file"; echo 'Status: install ok installed'; } > "$image/var/lib/dpkg/status.d/$name" ;;
  esac
done

mkdir "$work/release"
tar -xzf "$archive" -C "$work/release" --no-same-owner
release=$(echo "$work"/release/cardvault-*)
version=${release##*/cardvault-}
# The documentation is in the archive. The image starts Node without a shell script.
rm -rf "$release/docs" "$release/bin/cardvault"
epoch=${SOURCE_DATE_EPOCH:-$(stat -c %Y "$release/provenance.json")}
mv "$release" "$image/opt/cardvault"
node=$(cd "$image" && echo opt/cardvault/node_modules/node-linux-*/bin/node)
# Without its symbols Node is a seventh smaller. What the machine loads of it stays the same.
strip --strip-all "$image/$node"
ln -s "/$node" "$image/usr/bin/node"
cat > "$image/usr/bin/cardvault" <<'SCRIPT'
#!/usr/bin/node
import('/opt/cardvault/bin/cardvault.mjs');
SCRIPT
chmod 755 "$image/usr/bin/cardvault"
cp "$(dirname "$0")/health.mjs" "$image/opt/cardvault/health.mjs"

user=65532
echo 'root:x:0:0::/:/nonexistent' > "$image/etc/passwd"
echo "cardvault:x:$user:$user::/var/lib/cardvault:/nonexistent" >> "$image/etc/passwd"
printf 'root:x:0:\ncardvault:x:%s:\n' "$user" > "$image/etc/group"
echo 'hosts: files dns' > "$image/etc/nsswitch.conf"
chmod -R u=rwX,go=rX "$image"
chmod 700 "$image/var/lib/cardvault"
chmod 1777 "$image/tmp"

# Sorted, with one time and with fixed owners, so that the same files give the same bytes.
list() { (cd "$image" && find . -mindepth 1 ! -path ./var/lib/cardvault -print0 | LC_ALL=C sort -z); }
list > "$work/list"
tar -C "$image" --no-recursion --null -T "$work/list" --owner=0 --group=0 --numeric-owner --mtime="@$epoch" \
  --format=gnu -cf "$work/image.tar"
tar -C "$image" --no-recursion --owner="$user" --group="$user" --numeric-owner --mtime="@$epoch" \
  --format=gnu -rf "$work/image.tar" ./var/lib/cardvault

tag=${2:-localhost/cardvault:$version}
container=$(buildah from --format docker scratch)
buildah add --quiet "$container" "$work/image.tar" / > /dev/null
buildah config \
  --user "$user:$user" \
  --workingdir /var/lib/cardvault \
  --volume /var/lib/cardvault \
  --env PATH=/usr/bin \
  --env CARDVAULT_DATA_DIR=/var/lib/cardvault \
  --env CARDVAULT_HOST=0.0.0.0,:: \
  --port 8443 --port 8444 --port 8445 --port 8446 \
  --stop-signal SIGTERM \
  --entrypoint '["/usr/bin/prlimit","--core=0:0","/usr/bin/cardvault"]' \
  --cmd serve \
  --healthcheck 'CMD /usr/bin/node /opt/cardvault/health.mjs' \
  --healthcheck-interval 10s --healthcheck-timeout 5s --healthcheck-start-period 30s --healthcheck-retries 3 \
  --label org.opencontainers.image.title=cardvault \
  --label "org.opencontainers.image.version=$version" \
  --label org.opencontainers.image.licenses=Apache-2.0 \
  "$container"
# The format of Docker, because that of OCI has no health check.
buildah commit --quiet --format docker --timestamp "$epoch" --rm "$container" "$tag" > "$work/id"
container=
# The layer has the same digest whenever the same files are built. The id of the image also covers that of buildah's container.
layer=$(buildah inspect --type image --format '{{index .OCIv1.RootFS.DiffIDs 0}}' "$tag")
echo "$tag $(cat "$work/id") layer $layer"
