// What page_check.py runs in Node: html-validate on each page, then axe-core and the width in Chromium.
// Prints one line for each problem; NODE_PATH says where the packages are.
"use strict";
const { readFileSync, statSync } = require("fs");
const { HtmlValidate } = require("html-validate");
const puppeteer = require("puppeteer-core");

const [chromium, ...pages] = process.argv.slice(2);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const SCREENS = [[400, "light"], [1280, "dark"], [400, "dark"], [1280, "light"]];
const LARGE = 100000; // bytes; axe-core takes long for such a page, and the small ones look the same

async function validate(page) {
  const rules = new HtmlValidate({ extends: ["html-validate:recommended"] });
  const report = await rules.validateFile(page);
  for (const result of report.results)
    for (const found of result.messages) console.log(`${page}:${found.line}: ${found.ruleId}: ${found.message}`);
}

async function look(browser, page, [width, scheme]) {
  const tab = await browser.newPage();
  await tab.setViewport({ width, height: 900 });
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await tab.goto(`file://${page}`);
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
  if (wide > width) console.log(`${page}: ${wide} pixels wide at ${width}: it scrolls sideways`);
  await tab.evaluate(axe);
  const { violations } = await tab.evaluate(() => axe.run());
  for (const found of violations)
    console.log(`${page}: axe ${found.id} at ${width} ${scheme}: ${found.help} (${found.nodes[0].target} and ${found.nodes.length - 1} more)`);
  await tab.close();
}

// A picture of a page: texts that touch one another, or leave it; by the fonts of this browser.
async function lookAtPicture(browser, page, scheme) {
  const tab = await browser.newPage();
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await tab.goto(`file://${page}`);
  const found = await tab.evaluate(() => {
    const whole = document.documentElement.getBoundingClientRect();
    const texts = [...document.querySelectorAll("text")].map((one) => [one, one.getBoundingClientRect()]);
    const back = getComputedStyle(document.querySelector(".back")).fill;
    const words = [];
    texts.forEach(([one, box], at) => {
      if (box.left < whole.left || box.right > whole.right || box.bottom > whole.bottom)
        words.push(`"${one.textContent}" leaves the picture`);
      if (getComputedStyle(one).fill === back) words.push(`"${one.textContent}" has the colour of the background`);
      for (const [other, beside] of texts.slice(at + 1))
        if (box.left < beside.right && beside.left < box.right && box.top + 3 < beside.bottom && beside.top + 3 < box.bottom)
          words.push(`"${one.textContent}" is on "${other.textContent}"`);
    });
    return words;
  });
  for (const words of found) console.log(`${page}: ${scheme}: ${words}`);
  await tab.close();
}

(async () => {
  const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox"] });
  for (const page of pages) {
    if (page.endsWith(".svg")) {
      for (const scheme of ["light", "dark"]) await lookAtPicture(browser, page, scheme);
      continue;
    }
    await validate(page);
    const screens = statSync(page).size > LARGE ? SCREENS.slice(0, 1) : SCREENS;
    for (const screen of screens) await look(browser, page, screen);
  }
  await browser.close();
})();
