import { Link } from "@tanstack/react-router";
import { DropdownMenu } from "radix-ui";
import { useDeveloper } from "../session/session";
import { Icon, type IconName } from "../ui/icon";
import { chooseTheme, type Theme, useTheme } from "../ui/theme";
import { signOut } from "./signout";

const themes: { value: Theme; label: string; icon: IconName }[] = [
  { value: "system", label: "As the system", icon: "screen" },
  { value: "light", label: "Light", icon: "sun" },
  { value: "dark", label: "Dark", icon: "moon" },
];

const entry =
  "flex items-center gap-3 rounded-md px-3 py-1.5 outline-none data-[highlighted]:bg-wash data-[highlighted]:text-accent";

/** Who is signed in, the theme, and the way out. */
export default function AccountMenu() {
  const developer = useDeveloper();
  const theme = useTheme();
  return (
    // Not modal: a modal menu locks the scroll with a style element, which the page's policy refuses.
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger
        aria-label="Account"
        className="grid size-9 shrink-0 place-items-center rounded-full bg-wash font-semibold text-accent"
      >
        {developer?.name.slice(0, 1).toUpperCase() ?? "?"}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content align="end" sideOffset={8} className="card z-40 w-64 p-1.5 shadow-xl">
          <div className="px-3 py-2">
            <p className="truncate font-medium">{developer?.name}</p>
            <p className="truncate text-sm text-muted">{developer?.email}</p>
            <p className="text-sm text-muted capitalize">{developer?.plan} plan</p>
          </div>
          <DropdownMenu.Separator className="my-1 h-px bg-line" />
          <DropdownMenu.Label className="px-3 py-1 text-xs text-muted">Theme</DropdownMenu.Label>
          <DropdownMenu.RadioGroup value={theme} onValueChange={(v) => chooseTheme(v as Theme)}>
            {themes.map((t) => (
              <DropdownMenu.RadioItem key={t.value} value={t.value} className={entry}>
                <Icon name={t.icon} />
                {t.label}
                <DropdownMenu.ItemIndicator className="ml-auto">
                  <Icon name="check" />
                </DropdownMenu.ItemIndicator>
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
          <DropdownMenu.Separator className="my-1 h-px bg-line" />
          <DropdownMenu.Item asChild className={entry}>
            <Link to="/settings">
              <Icon name="gear" />
              Settings
            </Link>
          </DropdownMenu.Item>
          <DropdownMenu.Item className={entry} onSelect={() => void signOut()}>
            <Icon name="user" />
            Sign out
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
