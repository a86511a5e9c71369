// Made by the plugin "guides" of vite.config.ts; the shapes are those of docs/markdown.ts.
declare module "virtual:guides" {
  interface Section {
    id: string;
    guide: string;
    title: string;
    html: string;
    text: string;
  }
  export const guides: { id: string; title: string; sections: Section[] }[];
}

declare module "virtual:guide-titles" {
  export const guideTitles: { id: string; title: string }[];
}
