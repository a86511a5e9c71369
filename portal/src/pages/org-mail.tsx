import { useMutation, useQuery } from "@tanstack/react-query";
import { api, ask } from "../api/client";
import { asFailure } from "../api/failure";
import { emailConfig } from "../api/queries";
import { Button } from "../ui/button";
import { Card, Notice, Tag } from "../ui/layout";
import { Loaded } from "../ui/loaded";

/** Whether invites are mailed, and a mail to prove it. */
export function MailSettings() {
  const config = useQuery(emailConfig);
  const test = useMutation({ mutationFn: () => ask(api.POST("/dev/org/test-email")) });
  return (
    <Card title="Mail settings" about="Set by whoever runs this installation.">
      <Loaded query={config} lines={2}>
        {({ configured, from }) => (
          <div className="flex flex-col gap-3">
            <p className="flex flex-wrap items-center gap-2">
              <Tag tint={configured ? "good" : "warn"}>{configured ? "configured" : "not configured"}</Tag>
              {configured ? (
                <span className="wrap-anywhere text-muted">Invites are mailed from {from}.</span>
              ) : (
                <span className="text-muted">Invites are links that you pass on yourself.</span>
              )}
            </p>
            {configured && (
              <div>
                <Button icon="send" disabled={test.isPending} onClick={() => test.mutate()}>
                  Send me a test mail
                </Button>
              </div>
            )}
            {test.isSuccess && (
              <Notice tint="good">The mail server has taken a mail to {test.data.to}.</Notice>
            )}
            {test.isError && <Notice tint="bad">{asFailure(test.error).message}</Notice>}
          </div>
        )}
      </Loaded>
    </Card>
  );
}
