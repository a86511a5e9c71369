import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "../api/client";
import { imageBuilds } from "../api/queries";
import { bytes } from "../format/number";
import { Moment } from "../format/time";
import { buttonClass, CopyButton } from "../ui/button";
import { Icon } from "../ui/icon";
import { Card, Empty, PageHead, Tag } from "../ui/layout";
import { Loaded } from "../ui/loaded";

export function Images() {
  const builds = useQuery(imageBuilds);
  return (
    <>
      <PageHead
        title="Device images"
        about="Firmware that runs the models on the device itself. A key is needed to activate it, once; after that it works without a network."
      />
      <Loaded query={builds} lines={5}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="chip" title="No images are published here">
              The operator of this installation has configured no download.
            </Empty>
          ) : (
            <div className="grid gap-4 md:grid-cols-2">
              {list.map((b) => (
                <Build key={`${b.target} ${b.version}`} build={b} />
              ))}
            </div>
          )
        }
      </Loaded>
      <Card title="What it takes" className="mt-4">
        <ul className="list-disc space-y-1 pl-5 text-muted">
          <li>An active API key, for the activation.</li>
          <li>For a single-board computer: a microSD card of at least 16 GB and Python 3.10 or newer.</li>
          <li>For a microcontroller: Arduino IDE 2.x or its command line.</li>
          <li>A Wi-Fi network, with the device and your computer in the same subnet.</li>
        </ul>
      </Card>
    </>
  );
}

function Build({ build: b }: { build: Schemas["ImageBuild"] }) {
  return (
    <Card title={b.name} about={`${b.target} · version ${b.version} · ${b.format}`}>
      <p className="mb-3 text-muted">
        {b.size_bytes === null ? "Size unknown" : bytes(b.size_bytes)}
        {b.released_at && (
          <>
            , released <Moment at={b.released_at} />
          </>
        )}
      </p>
      <div className="flex flex-wrap items-center gap-2">
        {b.available ? (
          <a className={buttonClass("primary")} href={b.download_path} download>
            <Icon name="download" />
            Download
          </a>
        ) : (
          <Tag tint="warn">not available: no download is configured for it</Tag>
        )}
        {b.sha256 && <CopyButton text={b.sha256} label="Copy SHA-256" />}
      </div>
    </Card>
  );
}
