import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { appUsage } from "../api/queries";
import { comparable } from "../chart/series";
import { Loaded } from "../ui/loaded";
import { useApp } from "./app";
import { CompareToggle, defaultDays, RangePicker, UsageView } from "./usage-view";

const freshEveryMs = 5_000;

export function AppUsage() {
  const app = useApp();
  const [days, setDays] = useState(defaultDays);
  const [compare, setCompare] = useState(false);
  const usage = useQuery({ ...appUsage(app.app_id, days), refetchInterval: freshEveryMs });
  const before = useQuery({
    ...appUsage(app.app_id, days, 2 * days),
    enabled: compare && comparable(days),
  });
  const keyNames = new Map(app.keys.map((k) => [k.key_id, k.hint]));
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center justify-end gap-4">
        <CompareToggle days={days} on={compare} onChange={setCompare} />
        <RangePicker days={days} onChange={setDays} />
      </div>
      <Loaded query={usage} lines={8}>
        {(data) => (
          <UsageView
            usage={data}
            days={days}
            byApp={[{ label: app.name, ...data.totals }]}
            keyNames={keyNames}
            before={compare && comparable(days) ? before.data?.series : undefined}
          />
        )}
      </Loaded>
    </div>
  );
}
